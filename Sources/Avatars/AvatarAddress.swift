/// The address of a public picture: an absolute http or https URL, and where the mirror keeps it.
///
/// Two addresses are equal where the mirror keeps them in one place: http and https of one host are one entry.
public struct AvatarAddress: Hashable, Sendable {
    /// The URL as it is requested: without fragment and user info.
    public let url: String
    /// Parts of the place below the mirror's directory: `<host>[_port]`, then the path's (contract of the mirror,
    /// docs/avatars.md). Never empty, never `.` or `..`, none over 200 bytes.
    public let place: [String]

    /// Same place, same picture.
    public static func == (one: AvatarAddress, other: AvatarAddress) -> Bool { one.place == other.place }

    /// Consistent with `==`.
    public func hash(into hasher: inout Hasher) { hasher.combine(place) }
}

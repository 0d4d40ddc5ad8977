/// The places that may hold sidecars: the present one, and those of earlier values of `sidecars.directory` until the agent
/// has removed the sidecars there.
struct SidecarPlaces: Equatable, Sendable {
    /// Each place is the root of a tree; empty for sidecars beside their files. The present place comes last.
    private let roots: [String]

    /// Adds the present place to those in the ledger.
    ///
    /// - Parameters:
    ///   - stored: the ledger's setting, see ``bytes``. `nil` in ledgers of earlier versions; those sidecars are beside
    ///     their files.
    ///   - present: the root of the present tree; `nil` for sidecars beside their files.
    init(stored: [UInt8]?, present: String?) {
        let present = present ?? ""
        let known = (stored ?? []).split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        roots = known.filter { $0 != present } + [present]
    }

    /// The present place alone.
    init(only present: String?) { roots = [present ?? ""] }

    /// The places whose sidecars must go.
    var former: [String] { roots.dropLast() }

    /// The ledger's setting: the places, separated by zero bytes. Earlier versions stored a single place.
    var bytes: [UInt8] { Array(roots.joined(separator: "\0").utf8) }
}

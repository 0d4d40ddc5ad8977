/// The reason why the receiver does not start.
public enum StartFailure: Error, Equatable, CustomStringConvertible {
    /// The configuration cannot be used.
    case configuration(String)
    /// Another receiver holds the root.
    case inUse(String)
    /// A directory, file or socket cannot be created.
    case cannotCreate(String)
    /// The existing storage cannot be read.
    case inputOutput(String)

    /// The exit code, as in sysexits.h.
    public var exitCode: Int32 {
        switch self {
        case .configuration: 78
        case .inUse: 75
        case .cannotCreate: 73
        case .inputOutput: 74
        }
    }

    /// The message for people, one line.
    public var description: String {
        switch self {
        case .configuration(let text), .inUse(let text), .cannotCreate(let text), .inputOutput(let text): text
        }
    }
}

import Glibc
import SystemPackage

/// The reason why a measurement failed.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Returns a failure with the current `errno`.
    static func system(_ what: String) -> Failure {
        Failure("\(what): \(Errno(rawValue: errno))")
    }
}

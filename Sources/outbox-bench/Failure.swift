import Glibc
import SystemPackage

/// Why a measure could not be taken.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// A system call that failed just now.
    static func system(_ what: String) -> Failure {
        Failure("\(what): \(Errno(rawValue: errno))")
    }
}

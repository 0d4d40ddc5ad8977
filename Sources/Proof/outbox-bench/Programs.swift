import Glibc

/// The paths of the measured programs.
struct Programs {
    let outbox: String
    let receiver: String
    /// May be missing: only pictures need this program.
    let media: String
    let bench: String

    /// - Throws: `Failure` if a program of this package is missing.
    init(directory: String?) throws {
        guard let resolved = realpath("/proc/self/exe", nil) else { throw Failure.system("/proc/self/exe") }
        defer { free(resolved) }
        bench = String(cString: resolved)
        let own = bench.split(separator: "/").dropLast().joined(separator: "/")
        let directory = directory ?? "/\(own)"
        outbox = "\(directory)/outbox"
        receiver = "\(directory)/outbox-receiver"
        media = "\(directory)/outbox-media"
        for program in [outbox, receiver] where access(program, X_OK) != 0 {
            throw Failure("\(program) is missing; build it first (make build), or set --bin-dir")
        }
    }

    /// Returns the path of a system program.
    ///
    /// - Throws: `Failure` if the program is not installed.
    static func find(_ name: String) throws -> String {
        let directories = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        let candidates = directories.split(separator: ":").map { "\($0)/\(name)" }
        guard let program = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw Failure("there is no \(name) in PATH")
        }
        return program
    }
}

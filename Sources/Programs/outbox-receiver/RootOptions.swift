import ArgumentParser
import OutboxReceiver

/// Which receiver is meant: options of all commands.
struct RootOptions: ParsableArguments {
    /// Where the service of the packages stores everything.
    static let ofService = "/var/lib/outbox-receiver"

    @Option(
        help:
            "The directory to store everything in; created if missing. Only find works without: it reads that of the service, \(RootOptions.ofService)."
    )
    var root: String?

    @Option(
        name: .customLong("public-url"),
        help:
            "The base of links (default: the --listen address; for 0.0.0.0 or [::] the address that the client uses; none for find)."
    )
    var publicURL: String?

    mutating func validate() throws {
        if let publicURL, !publicURL.hasPrefix("http://"), !publicURL.hasPrefix("https://") {
            throw ValidationError("--public-url must begin with http:// or https://")
        }
    }
}

/// A size on the command line: `512MiB`, `64GiB`, `1000`.
struct ByteCount: ExpressibleByArgument, CustomStringConvertible {
    let bytes: Int64

    init(_ bytes: Int64) {
        self.bytes = bytes
    }

    init?(argument: String) {
        guard let bytes = ByteUnits.bytes(argument) else { return nil }
        self.bytes = bytes
    }

    var description: String { ByteUnits.text(bytes) }

    var defaultValueDescription: String { description }
}

import ArgumentParser
import OutboxReceiver

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

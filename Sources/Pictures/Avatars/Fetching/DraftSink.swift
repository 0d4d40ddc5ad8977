import Glibc
import LinuxSystem
import Synchronization
import Transport

/// Streams the body of a picture into a draft. Refuses the bodies of other replies.
final class DraftSink: ReplySink {
    private let file: SharedDescriptor
    private let written = Atomic<UInt64>(0)

    init(_ file: SharedDescriptor) {
        self.file = file
    }

    /// Bytes written so far.
    var length: UInt64 { written.load(ordering: .acquiring) }

    func takesBody(of reply: HTTPReply) -> Bool { CurlFetcher.isPicture(reply.status) }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let offset = off_t(written.load(ordering: .relaxed))
            let count = try retryingOnInterrupt { pwrite(file.rawValue, rest.baseAddress, rest.count, offset) }
            written.add(UInt64(count), ordering: .releasing)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }
}

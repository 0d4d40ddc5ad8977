import Glibc

/// One event in the kernel's format (man 7 inotify, struct inotify_event).
struct RawEvent: Equatable {
    var watch: Int32
    var mask: UInt32
    var cookie: UInt32
    /// The name within the watched directory, without padding; empty for the directory itself.
    var name: [UInt8]

    func has(_ flag: Int32) -> Bool { mask & UInt32(bitPattern: flag) != 0 }

    var isDirectory: Bool { has(RawEvent.directoryFlag) }

    static let directoryFlag = Int32(IN_ISDIR)

    /// Parses the bytes of one read(2) from an inotify descriptor.
    static func parse(_ bytes: [UInt8], _ body: (RawEvent) -> Void) {
        let headerSize = 16
        bytes.withUnsafeBytes { raw in
            var offset = 0
            while offset + headerSize <= raw.count {
                let length = Int(raw.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
                let end = offset + headerSize + length
                if end > raw.count { return }
                let name = raw[(offset + headerSize)..<end].prefix { $0 != 0 }
                body(
                    RawEvent(
                        watch: raw.loadUnaligned(fromByteOffset: offset, as: Int32.self),
                        mask: raw.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self),
                        cookie: raw.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self),
                        name: Array(name)))
                offset = end
            }
        }
    }
}

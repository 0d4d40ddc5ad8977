import Glibc
import LinuxSystem
import SystemPackage

extension SharedDescriptor {
    /// The number of bytes that a step wrote.
    var productSize: UInt64 {
        get throws(ProductFailure) {
            do {
                return try FileStatus(of: rawValue).size
            } catch {
                throw .failed("cannot read the size of a product: \(error)")
            }
        }
    }

    /// Whether the disk has no room for a few more blocks of a product, tried by writing. The product is void then.
    var isOutOfSpace: Bool {
        let blocks = [UInt8](repeating: 0, count: 1 << 16)
        do throws(Errno) {
            let size = try FileStatus(of: rawValue).size
            try retryingOnInterrupt { pwrite(rawValue, blocks, blocks.count, off_t(clamping: size)) }
            return false
        } catch {
            return error == .noSpace || error == .diskQuotaExceeded
        }
    }
}

extension ProductFailure {
    /// Whether a program's message says that a file could not grow. Programs run without a locale, so the message is
    /// the C library's own (man 3 strerror).
    static func isAboutSpace(_ message: String) -> Bool {
        [Errno.noSpace, .diskQuotaExceeded].contains { message.contains("\($0)") }
    }
}

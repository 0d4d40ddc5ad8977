import Glibc

/// Finds the program `outbox-media`.
enum MediaWorker {
    /// The path of `outbox-media` beside this program, or in `../libexec/outbox` from there; nil if both are missing.
    static var installed: String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let capacity = buffer.count
        let count = buffer.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { buffer in
                buffer.baseAddress.map { readlink("/proc/self/exe", $0, capacity) } ?? 0
            }
        }
        let program = String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
        let directory = program.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        return ["\(directory)/outbox-media", "\(directory)/../libexec/outbox/outbox-media"].first {
            access($0, X_OK) == 0
        }
    }
}

import Glibc

extension PictureWorker {
    /// Finds the worker program: `$OUTBOX_MEDIA`, otherwise beside the running program, otherwise in
    /// `../libexec/outbox` from there.
    ///
    /// - Returns: An absolute path. If there is no such program, the path beside the running program, so that a failed
    ///   start names that path.
    public static func find(environment: [String: String]) -> String {
        find(environment: environment, beside: runningProgram()) { access($0, X_OK) == 0 }
    }

    static func find(
        environment: [String: String], beside running: String, isProgram: (String) -> Bool
    ) -> String {
        if let told = environment["OUTBOX_MEDIA"], told.hasPrefix("/") { return told }
        let directory = running.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        let candidates = ["\(directory)/outbox-media", "\(directory)/../libexec/outbox/outbox-media"]
        return candidates.first(where: isProgram) ?? candidates[0]
    }

    /// man 5 proc, /proc/pid/exe.
    private static func runningProgram() -> String {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let capacity = bytes.count
        let count = bytes.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { buffer in
                buffer.baseAddress.map { readlink("/proc/self/exe", $0, capacity) } ?? 0
            }
        }
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }
}

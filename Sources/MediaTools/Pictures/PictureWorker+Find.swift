import Glibc
import LinuxSystem

extension PictureWorker {
    /// Finds the worker program: `$OUTBOX_MEDIA`, otherwise beside the running program, otherwise in
    /// `../libexec/outbox` from there.
    ///
    /// - Returns: An absolute path. If there is no such program, the path beside the running program, so that a failed
    ///   start names that path.
    public static func find(environment: [String: String]) -> String {
        let running = String(decoding: runningProgram() ?? [], as: UTF8.self)
        return find(environment: environment, beside: running) { access($0, X_OK) == 0 }
    }

    static func find(
        environment: [String: String], beside running: String, isProgram: (String) -> Bool
    ) -> String {
        if let told = environment["OUTBOX_MEDIA"], told.hasPrefix("/") { return told }
        let directory = running.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        let candidates = ["\(directory)/outbox-media", "\(directory)/../libexec/outbox/outbox-media"]
        return candidates.first(where: isProgram) ?? candidates[0]
    }
}

import Glibc
import LinuxSystem

extension PictureWorker {
    /// Finds the worker program: `$OUTBOX_MEDIA`, otherwise beside the running program, otherwise in
    /// `../libexec/outbox` from there.
    ///
    /// - Returns: An absolute path. If there is no such program, the path of a file that can't be executed, or the one
    ///   where it is to be installed, so that a failed start names that path.
    public static func find(environment: [String: String]) -> String {
        let running = String(decoding: runningProgram() ?? [], as: UTF8.self)
        return find(
            environment: environment, beside: running, isProgram: { access($0, X_OK) == 0 },
            exists: { access($0, F_OK) == 0 })
    }

    static func find(
        environment: [String: String], beside running: String, isProgram: (String) -> Bool,
        exists: (String) -> Bool = { _ in false }
    ) -> String {
        if let told = environment["OUTBOX_MEDIA"], told.hasPrefix("/") { return told }
        let parts = running.split(separator: "/").dropLast().map { "/\($0)" }
        let inLibrary = parts.dropLast().joined() + "/libexec/outbox/outbox-media"
        let candidates = [parts.joined() + "/outbox-media", inLibrary]
        // Packages put programs in /usr/bin and the worker in /usr/libexec.
        let expected = parts.last == "/bin" ? inLibrary : candidates[0]
        return candidates.first(where: isProgram) ?? candidates.first(where: exists) ?? expected
    }
}

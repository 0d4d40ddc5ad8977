import CSandbox
import PictureJobs

/// Confines a decoder that a malicious picture has taken over.
enum Sandbox {
    /// Enters the sandbox irrevocably. All files must be loaded before, and no other thread may run: Landlock only
    /// covers this thread and its later children.
    ///
    /// - Returns: The active layers, without those that the kernel lacks.
    static func enter() -> [PictureHello.Layer] {
        let steps: [(PictureHello.Layer, () -> Int32)] = [
            (.noNewPrivileges, outbox_gain_no_privileges),
            (.landlock, outbox_forbid_files),
            // Last, because the filter refuses the system calls of the other steps.
            (.seccomp, outbox_forbid_calls),
        ]
        return steps.filter { $0.1() == 0 }.map(\.0)
    }
}

import CSandbox
import PictureJobs

/// What keeps a decoder that was taken over by a picture from doing harm, or from looking around.
enum Sandbox {
    /// Locks the process in, for good. Everything that is loaded from files has to be loaded before, and no other thread
    /// may run yet: Landlock holds for this thread and those it starts.
    ///
    /// - Returns: the layers that hold; one that the kernel doesn't have is left out.
    static func enter() -> [PictureHello.Layer] {
        let steps: [(PictureHello.Layer, () -> Int32)] = [
            (.noNewPrivileges, outbox_gain_no_privileges),
            (.landlock, outbox_forbid_files),
            // Last, since it refuses what the others do.
            (.seccomp, outbox_forbid_calls),
        ]
        return steps.filter { $0.1() == 0 }.map(\.0)
    }
}

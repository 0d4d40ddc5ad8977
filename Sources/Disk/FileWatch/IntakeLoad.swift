import Synchronization

/// The number of files that the watch told its user about and that its user still works on.
///
/// While there are `window` of them, the watch defers new files: the disk is the queue, and memory holds only the
/// directories with deferred files, and at most 1 MiB of their names. The watch takes files again when half of the window
/// is left.
public final class IntakeLoad: Sendable {
    let window: Int

    private let queued: @Sendable () -> Int
    private let inWork = Atomic(0)
    /// The load at which to wake the watch; negative while the watch does not wait for room.
    private let wakeMark = Atomic(-1)
    private let wakeup = Mutex<Wakeup?>(nil)

    /// Creates a load of 0.
    ///
    /// - Parameters:
    ///   - window: at this load the watch defers files.
    ///   - queued: returns the number of told events that the user has not handled yet; called often, on several
    ///     threads.
    public init(window: Int, queued: @escaping @Sendable () -> Int = { 0 }) {
        self.window = max(1, window)
        self.queued = queued
    }

    /// Half of the window: the load at which the watch takes files again.
    var lowMark: Int { window / 2 }

    /// The files in work and the queued events.
    var count: Int { inWork.load(ordering: .sequentiallyConsistent) + queued() }

    /// Sets the number of files in work, and wakes the watch if it waits for room that exists now.
    public func report(_ count: Int) {
        inWork.store(count, ordering: .sequentiallyConsistent)
        let mark = wakeMark.load(ordering: .sequentiallyConsistent)
        guard mark >= 0, count + queued() <= mark else { return }
        wakeMark.store(-1, ordering: .sequentiallyConsistent)
        wakeup.withLock { $0 }?.signal()
    }

    /// Sets the watch to wake.
    func attach(_ wakeup: Wakeup) { self.wakeup.withLock { $0 = wakeup } }

    /// Has the next `report` of at most this load wake the watch.
    ///
    /// - Returns: whether the load is that low already.
    func wake(at mark: Int) -> Bool {
        wakeMark.store(mark, ordering: .sequentiallyConsistent)
        return count <= mark
    }
}

import LinuxSystem
public import UploadCore

/// The time, and a way to wait.
public struct AvatarClock: Sendable {
    /// The current time of both clocks.
    public var now: @Sendable () -> Now
    /// Waits; throws if the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void

    /// Creates a clock.
    public init(now: @escaping @Sendable () -> Now, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        self.sleep = sleep
    }
}

extension AvatarClock {
    /// The system's clocks.
    public static let system = AvatarClock(
        now: {
            Now(
                monotonic: MonotonicTime(nanoseconds: bootTimeNanoseconds()),
                wall: WallTime(milliseconds: wallTimeMilliseconds()))
        },
        sleep: { try await Timers.sleep(for: $0) })
}

import LinuxSystem
import UploadCore

extension AvatarClock {
    /// The system's clocks.
    public static let system = AvatarClock(
        now: {
            Now(
                monotonic: MonotonicTime(nanoseconds: bootTimeNanoseconds()),
                wall: WallTime(milliseconds: wallTimeMilliseconds()))
        },
        sleep: { try await Task.sleep(for: $0) })
}

import HTTPTypes
public import LinuxSystem
import Synchronization
import Transport
import UploadCore

/// The server's clock, for signatures: a server refuses a signature that is more than 15 minutes old or early.
///
/// Equals this machine's clock until the server complains about the time of a request. From then on the difference that
/// the reply's `Date` shows is added, until the program ends.
public final class ServerClock: Sendable {
    private let difference = Atomic<Int64>(0)
    private let machine: @Sendable () -> Int64

    /// Creates a clock.
    ///
    /// - Parameter machine: returns milliseconds since 1970 by this machine's clock.
    public init(machine: @escaping @Sendable () -> Int64 = { wallTimeMilliseconds() }) { self.machine = machine }

    /// The time to sign with.
    var now: WallTime { WallTime(milliseconds: machine() &+ difference.load(ordering: .relaxed)) }

    /// Adopts the time of a reply.
    ///
    /// - Returns: how far the server's clock is ahead of this machine's, in seconds; nil without a readable `Date`.
    @discardableResult
    func adopt(dateIn headers: HTTPFields) -> Int64? {
        guard let date = headers.first(.date).flatMap(HTTPDate.secondsSince1970) else { return nil }
        let ahead = date * 1000 - machine()
        difference.store(ahead, ordering: .relaxed)
        return ahead / 1000
    }
}

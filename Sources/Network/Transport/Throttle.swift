import CCurl
import LinuxSystem

/// Distributes the bandwidth limit among transfers, on the transport's thread.
///
/// A transfer that may not send now is paused and waits in line. Twenty times a second the available bytes are dealt
/// in equal shares to the first transfers in line; a transfer that needs more joins the end of the line again. The
/// sum is exact and no transfer starves.
final class Throttle {
    /// Time between two deals, in nanoseconds.
    private static let interval: UInt64 = 50_000_000
    /// Minimum share in bytes, so that a body is not sent in tiny pieces.
    private static let smallestShare: UInt64 = 512

    private var bucket: TokenBucket
    private var line: [Transfer] = []
    private var nextDeal: UInt64 = 0

    init(rate: UInt64) {
        bucket = TokenBucket(rate: rate, now: bootTimeNanoseconds())
    }

    /// When to call ``deal(at:)`` next; nil while no transfer waits.
    var deadline: UInt64? { line.isEmpty ? nil : nextDeal }

    /// Returns how many of `wanted` bytes a transfer may send now; 0 pauses the transfer until a later deal.
    func admit(_ transfer: Transfer, wanted: Int) -> Int {
        if bucket.rate == 0 { return wanted }
        if transfer.allowance == 0 {
            let now = bootTimeNanoseconds()
            if line.isEmpty {
                bucket.refill(at: now, inDemand: false)
                // At least as much as one deal would bring: otherwise a lone transfer would send tiny pieces.
                let worthwhile = max(bucket.rate / 20, Self.smallestShare)
                if bucket.available >= min(UInt64(wanted), worthwhile) {
                    transfer.allowance = bucket.take(atMost: UInt64(wanted))
                }
            }
            if transfer.allowance == 0 {
                if line.isEmpty { nextDeal = now + Self.interval }
                transfer.isThrottled = true
                line.append(transfer)
                return 0
            }
        }
        return Int(min(transfer.allowance, UInt64(wanted)))
    }

    /// Resumes the first transfers in line, each with its share.
    func deal(at now: UInt64) {
        guard !line.isEmpty, now >= nextDeal else { return }
        nextDeal = now + Self.interval
        bucket.refill(at: now, inDemand: true)
        let smallest = min(Self.smallestShare, bucket.rate)
        let count = min(line.count, Int(min(bucket.available / smallest, UInt64(Int32.max))))
        guard count > 0 else { return }
        let share = bucket.available / UInt64(count)
        let next = line.prefix(count)
        line.removeFirst(count)
        for transfer in next {
            transfer.allowance = bucket.take(atMost: share)
            resume(transfer)
        }
    }

    /// Changes the limit, in bytes per second; 0 means no limit.
    func setRate(_ rate: UInt64) {
        bucket.refill(at: bootTimeNanoseconds(), inDemand: !line.isEmpty)
        bucket.rate = rate
        guard rate == 0 else { return }
        let all = line
        line = []
        all.forEach(resume)
    }

    /// Removes an ended transfer from the line; other transfers get its unused bytes.
    func remove(_ transfer: Transfer) {
        line.removeAll { $0 === transfer }
        bucket.giveBack(transfer.allowance)
        transfer.allowance = 0
        transfer.isThrottled = false
    }

    private func resume(_ transfer: Transfer) {
        transfer.isThrottled = false
        curl_easy_pause(transfer.easy, CURLPAUSE_CONT)
    }
}

/// Counts the bytes a bandwidth limit allows. A plain value: the caller passes the time in nanoseconds on a clock
/// that never steps.
struct TokenBucket {
    /// Bytes per second; 0 means no limit.
    var rate: UInt64
    /// Number of bytes that may be sent now.
    private(set) var available: UInt64 = 0
    private var filledAt: UInt64

    init(rate: UInt64, now: UInt64) {
        self.rate = rate
        filledAt = now
    }

    /// Adds the bytes earned since the last call.
    ///
    /// - Parameter inDemand: whether a transfer waits. Without demand, at most a tenth of a second's bytes accumulate
    ///   for a burst. With demand, a thread that comes up to a second late loses no bytes.
    mutating func refill(at now: UInt64, inDemand: Bool) {
        let elapsed = min(now - min(filledAt, now), 1_000_000_000)
        let earned = UInt64(Double(rate) * Double(elapsed) / 1e9)
        // Less than a byte: leave the clock, so that the fraction is not lost.
        if earned == 0 && elapsed < 1_000_000_000 { return }
        filledAt = now
        available = min(available + earned, inDemand ? rate : max(rate / 10, 1))
    }

    mutating func take(atMost count: UInt64) -> UInt64 {
        let taken = min(count, available)
        available -= taken
        return taken
    }

    mutating func giveBack(_ count: UInt64) {
        available += count
    }
}

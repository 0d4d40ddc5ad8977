/// How many fragments go at once over the link, learned from how long they take.
///
/// A fragment that took over 15 s while others shared the link tells how many there should have been: as many as would
/// have taken 15 s each. So a link of 10 KB/s, where a fragment of 512 KiB takes 52 s by itself, carries one at a time,
/// and what breaks off every few minutes gets something through in between. Quick fragments widen it again, by half for
/// each eight in a row. It begins narrower than the limits allow, which costs a fast link some dozen fragments' time and
/// spares a slow one its first half hour.
struct Pace: Equatable, Sendable {
    /// A fragment that takes longer narrows the window.
    static let slow = Duration.seconds(15)
    /// Fragments that take less widen it.
    static let quick = Duration.seconds(5)
    /// So many quick ones in a row widen it once.
    static let quickOnesToRise = 8

    /// Fragments that may be on their way at once, over all files; at least 1.
    private(set) var window: Int
    private var limit: Int
    private var quickOnes = 0
    private var wasSlow = false

    init(_ limits: UploadLimits) {
        window = Self.start(limits)
        limit = Self.most(limits)
    }

    /// Takes new limits over; what was learned of the link stays.
    mutating func setLimits(_ limits: UploadLimits) {
        limit = Self.most(limits)
        window = min(wasSlow ? window : max(window, Self.start(limits)), limit)
    }

    /// A fragment was acknowledged.
    ///
    /// - Parameters:
    ///   - took: from its request's beginning to its answer.
    ///   - sharing: how many fragments were on their way at the end of it, itself among them.
    mutating func observe(_ took: Duration, sharing: Int) {
        if took > Self.slow {
            quickOnes = 0
            wasSlow = true
            window = min(window, max(1, Int(Double(max(sharing, 1)) * (Self.slow / took))))
        } else if took < Self.quick {
            quickOnes += 1
            guard quickOnes >= Self.quickOnesToRise else { return }
            quickOnes = 0
            window = min(limit, window + max(1, window / 2))
        } else {
            quickOnes = 0
        }
    }

    private static func start(_ limits: UploadLimits) -> Int { max(limits.filesInFlight, limits.fragmentsInFlight) }

    private static func most(_ limits: UploadLimits) -> Int {
        let (product, overflow) = limits.filesInFlight.multipliedReportingOverflow(by: limits.fragmentsInFlight)
        return overflow ? .max : product
    }
}

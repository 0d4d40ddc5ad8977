/// Limits how many fragments are in flight at once. Learns the limit from the time fragments take.
///
/// A fragment that takes over 15 s while sharing the link narrows the window to the number of fragments that would have
/// taken 15 s each. On a link of 10 KB/s, where one fragment of 512 KiB takes 52 s, the window is one, so a link that
/// breaks every few minutes still makes progress. Each eight quick fragments in a row widen the window by half. The
/// window starts narrower than the limits allow. A fast link loses the time of some dozen fragments, and a slow link
/// keeps its first half hour.
struct Pace: Equatable, Sendable {
    /// A slower fragment narrows the window.
    static let slow = Duration.seconds(15)
    /// A faster fragment counts towards widening.
    static let quick = Duration.seconds(5)
    /// This many quick fragments in a row widen the window once.
    static let quickOnesToRise = 8

    /// The number of fragments that may be in flight at once, over all files; at least 1.
    private(set) var window: Int
    private var limit: Int
    private var quickOnes = 0
    private var wasSlow = false

    init(_ limits: UploadLimits) {
        window = Self.start(limits)
        limit = Self.most(limits)
    }

    /// Applies new limits. Keeps what was learned about the link.
    mutating func setLimits(_ limits: UploadLimits) {
        limit = Self.most(limits)
        window = min(wasSlow ? window : max(window, Self.start(limits)), limit)
    }

    /// Records an acknowledged fragment.
    ///
    /// - Parameters:
    ///   - took: the time from the start of its request to the answer.
    ///   - sharing: how many fragments were in flight when the answer came, including this fragment.
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

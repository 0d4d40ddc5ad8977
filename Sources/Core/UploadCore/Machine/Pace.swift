/// Limits how many fragments are in flight at once. Learns the limit from the time fragments take.
///
/// A fragment that takes over 15 s while sharing the link narrows the window to the number of fragments that would have
/// taken 15 s each. On a link of 10 KB/s, where one fragment of 512 KiB takes 52 s, the window is one, so a link that
/// breaks every few minutes still makes progress. A larger fragment may take longer in proportion: the rate counts. But
/// no fragment may take over 120 s, because a fragment cut off by a broken link starts over. Each eight quick fragments in a row widen the window by half. The
/// window starts narrower than the limits allow. A fast link loses the time of some dozen fragments, and a slow link
/// keeps its first half hour.
///
/// If `fragments_in_flight` is automatic, the window follows the bandwidth-delay product, the server's time included. By
/// Little's law, window = rate × time. While fragments take less than three times the time of the fastest one of their
/// size, round trips limit the rate, and a wider window raises it. Six times the fastest time means that fragments only
/// wait for each other. So 64 KiB files over a round trip of 50 ms get a wide window, and a local server that is busy a
/// narrow one. A server that answers within a few milliseconds gets a wide window too: there the agent's own turnaround
/// limits the rate.
struct Pace: Equatable, Sendable {
    /// A fragment of at most `unit` that takes longer narrows the window.
    static let slow = Duration.seconds(15)
    /// A fragment of at most `unit` that takes less counts towards widening.
    static let quick = Duration.seconds(5)
    /// The size in bytes up to which `slow` and `quick` apply.
    static let unit = 512 << 10
    /// How many times longer than `slow` and `quick` a larger fragment may take.
    static let mostPatience = 8.0
    /// This many quick fragments in a row widen the window once.
    static let quickOnesToRise = 8
    /// Automatic: a fragment below this multiple of the fastest time counts towards widening.
    static let uncrowded = 3
    /// Automatic: a fragment above this multiple of the fastest time counts towards narrowing.
    static let crowded = 6
    /// Automatic: about the time from the answer to a fragment to the start of the next one, a commit of the ledger
    /// included. A fragment that takes less counts towards widening, and only one above `crowded` times as long towards
    /// narrowing.
    static let turnaround = Duration.milliseconds(20)
    /// Automatic: the number of fragments of a single file before anything is measured.
    static let firstFragments = 4

    /// The number of fragments that may be in flight at once, over all files; at least 1.
    private(set) var window: Int
    private var limits: UploadLimits
    /// Fragments that counted towards widening, less those towards narrowing.
    private var score = 0
    private var wasSlow = false
    /// The shortest time that a fragment took, by the number of bits in the fragment's size.
    private var fastest: [Int: Duration] = [:]

    init(_ limits: UploadLimits) {
        self.limits = limits
        window = Self.start(limits)
    }

    /// Applies new limits. Keeps what was learned about the link.
    mutating func setLimits(_ limits: UploadLimits) {
        self.limits = limits
        window = min(wasSlow ? window : max(window, Self.start(limits)), limits.mostFragments)
    }

    /// Forgets the fastest times, because the network changed. The window stays until fragments show that it is wrong.
    mutating func networkChanged() { fastest = [:] }

    /// Records an acknowledged fragment.
    ///
    /// - Parameters:
    ///   - took: the time from the start of its request to the answer.
    ///   - bytes: the size of the fragment.
    ///   - sharing: how many fragments were in flight when the answer came, including this fragment.
    mutating func observe(_ took: Duration, bytes: Int, sharing: Int) {
        let patience = min(max(Double(bytes) / Double(Self.unit), 1), Self.mostPatience)
        guard took < Self.quick * patience else {
            score = 0
            if took > Self.slow * patience { narrow(Self.slow * patience / took, sharing: sharing) }
            return
        }
        score += judge(took, bytes: bytes, sharing: sharing)
        if score >= Self.quickOnesToRise {
            score = 0
            window = min(limits.mostFragments, window + max(1, window / 2))
        } else if score <= -Self.quickOnesToRise {
            score = 0
            window = max(Self.start(limits), window - window / 3)
        }
    }

    /// Records bytes of a long fragment that continues in its middle after an interruption. Only their rate counts: an
    /// interruption costs little, and no round trip limits them.
    mutating func observeStream(_ took: Duration, bytes: Int, sharing: Int) {
        guard bytes > 0 else { return }
        let perUnit = took * (Double(Self.unit) / Double(bytes))
        if perUnit > Self.slow {
            score = 0
            narrow(Self.slow / perUnit, sharing: sharing)
        } else if perUnit < Self.quick, window < Self.start(limits), bytes >= Self.unit * Self.quickOnesToRise {
            window = min(Self.start(limits), window + max(1, window / 2))
        }
    }

    /// - Parameter ratio: the longest acceptable time of the fragment, divided by its time.
    private mutating func narrow(_ ratio: Double, sharing: Int) {
        wasSlow = true
        fastest = [:]
        window = min(window, max(1, Int(Double(max(sharing, 1)) * ratio)))
    }

    /// Returns 1 if a quick fragment asks for a wider window, -1 if for a narrower one, otherwise 0.
    private mutating func judge(_ took: Duration, bytes: Int, sharing: Int) -> Int {
        guard limits.fragmentsInFlight == nil, window >= Self.start(limits) else { return 1 }
        let size = Int.bitWidth - bytes.leadingZeroBitCount
        let best = min(took, fastest[size] ?? took)
        fastest[size] = best
        if took > max(best, Self.turnaround) * Self.crowded { return -1 }
        // A window that is not full says nothing about a wider one.
        return took < max(best * Self.uncrowded, Self.turnaround) && sharing > window / 2 ? 1 : 0
    }

    private static func start(_ limits: UploadLimits) -> Int {
        max(limits.filesInFlight, limits.fragmentsInFlight ?? firstFragments)
    }
}

import Synchronization

/// The people who signed in on the page, each with a secret of 128 random bits in a cookie.
///
/// Sessions are in memory: they end with the receiver, after ``lifetime``, or when their token leaves the token file.
/// The key is a digest of the secret, so that the time of a look-up reveals nothing about the secret.
final class Sessions: Sendable {
    /// In seconds.
    static let lifetime: Int64 = 7 * 24 * 3600
    /// Beyond this number, the oldest session of the user ends.
    static let mostOfUser = 20

    private struct Session {
        let holder: Tokens.Holder
        let number: UInt64
        let end: Int64
    }

    private struct State {
        var sessions: [[UInt8]: Session] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Begins a session and returns its secret.
    /// - Parameter now: Seconds of a clock that is never set.
    func begin(for holder: Tokens.Holder, at now: Int64) -> String {
        let secret = Hex128.random().description
        state.withLock { state in
            state.sessions = state.sessions.filter { $0.value.end > now }
            let own = state.sessions.filter { $0.value.holder.user == holder.user }
            if own.count >= Self.mostOfUser, let oldest = own.min(by: { $0.value.number < $1.value.number }) {
                state.sessions[oldest.key] = nil
            }
            state.last += 1
            state.sessions[RunningSHA256.hash(secret)] = Session(
                holder: holder, number: state.last, end: now + Self.lifetime)
        }
        return secret
    }

    /// Returns who began this session; nil if there is no such session any more. The caller must check that the
    /// holder's token is still valid.
    func holder(_ secret: some StringProtocol, at now: Int64) -> Tokens.Holder? {
        let session = state.withLock { $0.sessions[RunningSHA256.hash(secret)] }
        return session.flatMap { $0.end > now ? $0.holder : nil }
    }

    func end(_ secret: some StringProtocol) {
        state.withLock { $0.sessions[RunningSHA256.hash(secret)] = nil }
    }

    var count: Int { state.withLock { $0.sessions.count } }
}

/// Limits how often an address may guess a token on the page.
struct Guesses {
    /// Wrong tokens of one address in a ``window``.
    static let most = 30
    /// In seconds.
    static let window: Int64 = 60
    /// Beyond this number, all further addresses count as one.
    private static let mostAddresses = 10_000

    private var counts: [VisitorAddress: Int] = [:]
    private var end: Int64 = .min

    /// Returns the seconds to wait; nil if the address may guess now.
    mutating func wait(of address: VisitorAddress, at now: Int64) -> Int64? {
        if now >= end { counts = [:] }
        return counts[counted(address), default: 0] >= Self.most ? end - now : nil
    }

    mutating func fail(_ address: VisitorAddress, at now: Int64) {
        if now >= end {
            counts = [:]
            end = now + Self.window
        }
        counts[counted(address), default: 0] += 1
    }

    private func counted(_ address: VisitorAddress) -> VisitorAddress {
        counts[address] != nil || counts.count < Self.mostAddresses ? address : VisitorAddress(nil)
    }
}

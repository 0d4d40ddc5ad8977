/// The portraits by user. A superseded portrait stays for a while, because open pages may still show it.
struct PortraitBook: Sendable {
    /// How long a superseded portrait is kept, in seconds.
    static let memory: Int64 = 24 * 3600
    /// The most superseded portraits kept per user.
    static let mostFormer = 10

    private struct Portrait {
        let user: String
        var at: Int64
        let size: Int64
        var supersededAt: Int64?
    }

    /// The portraits by the secret part of their URL.
    private var portraits: [Hex128: Portrait] = [:]
    private var current: [String: Hex128] = [:]
    /// What all portraits of a user count for.
    private var charges: [String: Int64] = [:]

    /// Makes a portrait the current one of its user.
    mutating func add(_ token: Hex128, user: String, at time: Int64, size: Int64) {
        if let former = current[user], former != token { portraits[former]?.supersededAt = time }
        charge(portraits[token], -1)
        portraits[token] = Portrait(user: user, at: time, size: size)
        charge(portraits[token], 1)
        current[user] = token
    }

    private mutating func charge(_ portrait: Portrait?, _ sign: Int64) {
        guard let portrait else { return }
        charges[portrait.user, default: 0] += sign * (Charge.file(portrait.size) + Charge.entry)
    }

    /// Returns what all portraits of the user count for.
    func charge(of user: String) -> Int64 { charges[user] ?? 0 }

    /// Returns the superseded portraits that are too old or exceed the limit of their user.
    ///
    /// - Parameters:
    ///   - user: whose portraits; nil for all.
    ///   - lacksSpace: whether the quota leaves a user no former portraits.
    func expired(
        at time: Int64, of user: String? = nil, lacksSpace: (String) -> Bool = { _ in false }
    ) -> [Hex128] {
        var former: [String: [(token: Hex128, since: Int64)]] = [:]
        for (token, portrait) in portraits {
            guard let since = portrait.supersededAt, user == nil || user == portrait.user else { continue }
            former[portrait.user, default: []].append((token, since))
        }
        return former.flatMap { user, former in
            let newestFirst = former.sorted { $0.since > $1.since }
            let kept = newestFirst.prefix(lacksSpace(user) ? 0 : Self.mostFormer).prefix {
                $0.since >= time - Self.memory
            }
            return newestFirst.dropFirst(kept.count).map(\.token)
        }
    }

    mutating func forget(_ token: Hex128) {
        guard let portrait = portraits.removeValue(forKey: token) else { return }
        charge(portrait, -1)
        if current[portrait.user] == token { current[portrait.user] = nil }
    }

    /// Corrects all times after the system's clock was set.
    mutating func correctTimes(after jump: ClockWatch.Jump) {
        for token in portraits.keys {
            guard var portrait = portraits[token] else { continue }
            portrait.at = jump.corrected(portrait.at)
            portrait.supersededAt = portrait.supersededAt.map(jump.corrected)
            portraits[token] = portrait
        }
    }

    /// The journal entries for this book. Replaying them in this order restores the book.
    var entries: [JournalEntry] {
        let ordered = portraits.sorted { first, second in
            let isFormer = (first.value.supersededAt != nil, second.value.supersededAt != nil)
            return isFormer.0 == isFormer.1 ? first.value.at < second.value.at : isFormer.0
        }
        return ordered.map { .portrait($0.key, user: $0.value.user, at: $0.value.at, size: $0.value.size) }
    }
}

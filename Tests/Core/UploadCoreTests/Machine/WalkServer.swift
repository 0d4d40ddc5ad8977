import UploadCore

/// A server that really stores its uploads, with occasional faults.
///
/// For in-order protocols it is a tus server: the last PATCH completes the upload, and the reply is the receipt. The server
/// then may know the upload no more. It recognises no content.
struct WalkServer {
    static let completeReceipt = "complete"

    struct Stored {
        var key: ContentKey
        var plan: FragmentPlan
        var fragments: Set<Int> = []
        /// The received bytes from the start, for in-order protocols.
        var offset: UInt64 = 0
    }

    enum Mood: CaseIterable { case fine, down, refusing, full }

    let traits: RemoteTraits
    var mood = Mood.fine
    /// Whether single requests may also fail.
    var isFlaky = true
    var open: [String: Stored] = [:]
    /// The complete contents.
    var whole: Set<ContentKey> = []
    /// The committed revisions.
    var posts: Set<Int> = []
    private var lastID = 0

    init(traits: RemoteTraits) { self.traits = traits }

    /// Executes a request and returns the resulting events for the machine.
    ///
    /// - Parameters:
    ///   - names: The ids of the uploads at the time of the request.
    ///   - stated: The uploads whose receipt says that they are complete. The remote asks no server about these.
    mutating func take(
        _ request: Begun, names: [ContentKey: String], plans: [ContentKey: FragmentPlan], stated: Set<ContentKey>,
        waiters: [RelativePath], random: inout WalkRandom
    ) -> [MachineEvent] {
        if let key = request.keys.first, stated.contains(key) {
            if request.kind == .resume { return [.resumed(request.id, key, .unasked)] }
            if request.kind == .finish { return [.finished(request.id, key, .confirmed(Self.object(key)))] }
        }
        if let event = unasked(request, names: names, plans: plans, &random) { return [event] }
        if let failure = wholeFailure(&random) { return Reply.failure(failure).events(for: request) }
        // The request arrives, but its reply is lost.
        let isLost = isFlaky && random.oneIn(25)
        let events: [MachineEvent]
        if request.kind == .remove, isFlaky, random.oneIn(10) {
            return Reply.failure(Self.ownFault(&random)).events(for: request)
        } else if request.kind == .remove {
            for name in request.names { open[name] = nil }
            events = [.removed(request.id)]
        } else if let commit = request.commit {
            if isFlaky, random.oneIn(8) {
                return Reply.failure(random.pick([.refused, .forgotten, Self.ownFault(&random)])).events(for: request)
            }
            posts.insert(commit.revision)
            events = Reply.success.events(for: request)
        } else {
            events = request.keys.map { key in
                guard let plan = plans[key] else { return .failed(request.id, key, .cancelled) }
                return take(request, key, plan, names[key], waiters, &random)
            }
        }
        return isLost ? Reply.failure(.busy).events(for: request) : events
    }

    /// Returns what the remote says about an upload that the request with its content creates. It asks no server.
    private func unasked(
        _ request: Begun, names: [ContentKey: String], plans: [ContentKey: FragmentPlan], _ random: inout WalkRandom
    ) -> MachineEvent? {
        guard traits.inOrder, let key = request.keys.first else { return nil }
        if request.kind == .resume, names[key] == "" { return .resumed(request.id, key, .unasked) }
        guard request.kind == .register, plans[key]?.count == 1, random.oneIn(3) else { return nil }
        return .registered(request.id, key, RemoteHandle(id: ""), .unasked)
    }

    private func wholeFailure(_ random: inout WalkRandom) -> RemoteFailure? {
        switch mood {
        case .fine: break
        case .down:
            return .temporary(
                .busy, retryAfter: random.oneIn(4) ? .seconds(7) : nil, outlook: random.oneIn(2) ? .away : .trouble)
        case .refusing: return .unauthorized
        case .full: return .temporary(.busy, outlook: .lasting)
        }
        guard isFlaky, random.oneIn(20) else { return nil }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .unauthorized
        case 1: return .cancelled
        case 2: return .temporary(.busy, retryAfter: .zero)
        default: return .busy
        }
    }

    private mutating func take(
        _ request: Begun, _ key: ContentKey, _ plan: FragmentPlan, _ name: String?, _ waiters: [RelativePath],
        _ random: inout WalkRandom
    ) -> MachineEvent {
        let id = request.id
        if request.kind == .register {
            if !traits.inOrder, whole.contains(key) { return .existing(id, key, RemoteObject(id: "old", url: nil)) }
            if isFlaky, random.oneIn(200) { return .failed(id, key, .refused) }
            lastID += 1
            open["id\(lastID)"] = Stored(key: key, plan: plan)
            return .registered(id, key, RemoteHandle(id: "id\(lastID)"), traits.inOrder ? .offset(0) : .asRecorded)
        }
        if isFlaky, request.kind == .send, random.oneIn(60), let path = waiters.randomElement(using: &random) {
            // The server keeps what arrived before the problem.
            if let name, let stored = open[name], stored.key == key, traits.inOrder {
                let end = plan.range(of: request.fragment).upperBound
                if stored.offset < end {
                    open[name]?.offset = UInt64.random(in: stored.offset..<end, using: &random)
                }
            }
            return .failed(id, key, .source(path, random.pick([.changed, .missing, .unreadable(.refused)])))
        }
        if isFlaky, random.oneIn(40) { return .failed(id, key, Self.ownFault(&random)) }
        if isFlaky, let name, random.oneIn(80) { open[name] = nil }
        if name == "" {
            whole.insert(key)
            return .acknowledged(
                id, key, fragment: request.fragment, receipt: Self.completeReceipt, took: .milliseconds(100))
        }
        guard let name, var stored = open[name], stored.key == key else {
            if !traits.inOrder, request.kind == .finish, whole.contains(key) {
                return .finished(id, key, .confirmed(Self.object(key)))
            }
            return .failed(id, key, .forgotten)
        }
        defer { if open[name] != nil { open[name] = stored } }
        // Some servers lose what they acknowledged.
        if isFlaky, random.oneIn(60) { stored.offset = UInt64.random(in: 0...stored.offset, using: &random) }
        switch request.kind {
        case .resume where traits.inOrder: return .resumed(id, key, .offset(stored.offset))
        case .resume:
            let receipts = stored.fragments.map { ($0, "etag-\($0)") }
            return .resumed(id, key, .fragments(Dictionary(uniqueKeysWithValues: receipts)))
        case .send: return send(request, key, name, &stored, &random)
        default: return finish(id, key, name, &stored, &random)
        }
    }

    private mutating func send(
        _ request: Begun, _ key: ContentKey, _ name: String, _ stored: inout Stored, _ random: inout WalkRandom
    ) -> MachineEvent {
        let range = stored.plan.range(of: request.fragment)
        if traits.inOrder {
            guard stored.offset == range.lowerBound + UInt64(request.skip) else {
                return .failed(request.id, key, .outOfStep(.busy))
            }
            if isFlaky, random.oneIn(15) {
                stored.offset = UInt64.random(in: stored.offset...range.upperBound, using: &random)
                return .failed(request.id, key, .busy)
            }
            stored.offset = range.upperBound
        }
        stored.fragments.insert(request.fragment)
        let took = Duration.milliseconds(Int.random(in: 1...20_000, using: &random))
        var receipt = traits.maximumFragments == nil ? nil : "etag-\(request.fragment)"
        if traits.inOrder, stored.offset == stored.plan.size {
            receipt = Self.completeReceipt
            whole.insert(key)
            if random.oneIn(2) { open[name] = nil }
        }
        return .acknowledged(request.id, key, fragment: request.fragment, receipt: receipt, took: took)
    }

    private mutating func finish(
        _ id: RequestID, _ key: ContentKey, _ name: String, _ stored: inout Stored, _ random: inout WalkRandom
    ) -> MachineEvent {
        if traits.inOrder {
            if stored.offset < stored.plan.size { return .failed(id, key, .outOfStep(.busy)) }
            whole.insert(key)
            return .finished(id, key, .confirmed(Self.object(key)))
        }
        if isFlaky, random.oneIn(6) { return .finished(id, key, .assembling) }
        guard stored.fragments.count == stored.plan.count, !isFlaky || !random.oneIn(30) else {
            stored.fragments = []
            return .finished(id, key, .failed(.unassembled))
        }
        whole.insert(key)
        open[name] = nil
        return .finished(id, key, .confirmed(Self.object(key)))
    }

    /// A failure that concerns one upload.
    private static func ownFault(_ random: inout WalkRandom) -> RemoteFailure {
        random.pick([
            .outOfStep(.busy), .busyUpload(.busy), .busyUpload(.busy, retryAfter: .seconds(7)),
            .temporary(.busy, outlook: .silent),
        ])
    }

    private static func object(_ key: ContentKey) -> RemoteObject { RemoteObject(id: nil, url: "http://x/\(key.high)") }
}

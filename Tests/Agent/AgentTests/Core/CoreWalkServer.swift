import TestSupport
import UploadCore

/// A server that stores uploads, with faults. It speaks like fileSection.
struct CoreWalkServer {
    enum Mood: CaseIterable { case fine, down, refusing }

    var mood = Mood.fine
    /// Whether single requests fail too.
    var isFlaky = true
    /// The uploads by id.
    private var uploads: [String: (key: ContentKey, fragments: Set<Int>, isWhole: Bool)] = [:]
    private var lastID = 0

    private static let busy = FileError(code: "server_error", message: "500", retryable: true)
    private static let signedOut = FileError(code: "signed_out", message: "401", retryable: true)
    private static let refused = FileError(code: "refused", message: "no", retryable: false)

    /// Returns the id of a complete upload of a content; `nil` if there is none.
    func object(of key: ContentKey) -> String? { uploads.first { $0.value.key == key && $0.value.isWhole }?.key }

    /// Carries out a request.
    ///
    /// - Parameters:
    ///   - record: the upload of a content.
    ///   - problem: why the bytes of a content can't be read; `nil` if they can.
    /// - Returns: what the machine hears. A reply may be lost.
    mutating func answer(
        _ request: MachineAction, record: (ContentKey) -> UploadRecord?, problem: (ContentKey) -> SourceProblem?,
        _ random: inout SeededRandom
    ) -> [MachineEvent] {
        if let failure = failure(&random) { return request.failed(failure) }
        let events: [MachineEvent]
        switch request {
        case .register(let id, let keys): events = keys.map { register(id, $0, &random) }
        case .resume(let id, let key): events = [.resumed(id, key, .asRecorded)]
        case .send(let id, let key, let fragment, _):
            if let problem = problem(key) { return [.failed(id, key, .source(problem))] }
            events = [send(id, key, fragment, record(key), &random)]
        case .finish(let id, let keys): events = keys.map { finish(id, $0, record($0), &random) }
        case .remove(let id, let handles):
            for handle in handles { uploads[handle.id] = nil }
            events = [.removed(id)]
        case .commit(let id, _): events = [.committed(id, .done(url: nil))]
        default: events = []
        }
        return isFlaky && random.oneIn(25) ? request.failed(.temporary(Self.busy, outlook: .away)) : events
    }

    private func failure(_ random: inout SeededRandom) -> RemoteFailure? {
        switch mood {
        case .fine where isFlaky && random.oneIn(25): .temporary(Self.busy)
        case .fine: nil
        case .down: .temporary(Self.busy, outlook: .away)
        case .refusing: .signedOut(Self.signedOut)
        }
    }

    private mutating func register(
        _ id: RequestID, _ key: ContentKey, _ random: inout SeededRandom
    ) -> MachineEvent {
        if let known = object(of: key) { return .existing(id, key, RemoteObject(id: known, url: nil)) }
        if isFlaky, random.oneIn(100) { return .failed(id, key, .permanent(Self.refused)) }
        lastID += 1
        uploads["\(lastID)"] = (key, [], false)
        return .registered(id, key, RemoteHandle(id: "\(lastID)"), .asRecorded)
    }

    private mutating func send(
        _ id: RequestID, _ key: ContentKey, _ fragment: Int, _ record: UploadRecord?, _ random: inout SeededRandom
    ) -> MachineEvent {
        guard let name = record?.handle?.id, uploads[name] != nil, !(isFlaky && random.oneIn(100)) else {
            return .failed(id, key, .forgotten)
        }
        uploads[name]?.fragments.insert(fragment)
        return .acknowledged(id, key, fragment: fragment, receipt: nil, took: .milliseconds(100))
    }

    private mutating func finish(
        _ id: RequestID, _ key: ContentKey, _ record: UploadRecord?, _ random: inout SeededRandom
    ) -> MachineEvent {
        guard let record, let name = record.handle?.id, let upload = uploads[name], upload.key == key else {
            return .failed(id, key, .forgotten)
        }
        if isFlaky, random.oneIn(10) { return .finished(id, key, .assembling) }
        guard upload.fragments.count == record.plan.count else { return .finished(id, key, .failed(Self.busy)) }
        uploads[name]?.isWhole = true
        return .finished(id, key, .confirmed(RemoteObject(id: name, url: nil)))
    }
}

extension MachineAction {
    /// The number of the request that this begins; `nil` if it begins none.
    var requestID: RequestID? {
        switch self {
        case .register(let id, _), .resume(let id, _), .send(let id, _, _, _), .finish(let id, _), .remove(let id, _),
            .commit(let id, _):
            id
        default: nil
        }
    }

    /// The contents whose uploads must be durable before this request.
    var keys: [ContentKey] {
        switch self {
        case .register(_, let keys), .finish(_, let keys): keys
        case .resume(_, let key), .send(_, let key, _, _): [key]
        default: []
        }
    }

    /// The failure of this request.
    func failed(_ failure: RemoteFailure) -> [MachineEvent] {
        switch self {
        case .remove(let id, _): [.removalFailed(id, failure)]
        case .commit(let id, _): [.commitFailed(id, failure)]
        default: requestID.map { id in keys.map { .failed(id, $0, failure) } } ?? []
        }
    }
}

extension SeededRandom {
    mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

    mutating func pick<Element>(_ list: [Element]) -> Element? { list.randomElement(using: &self) }
}

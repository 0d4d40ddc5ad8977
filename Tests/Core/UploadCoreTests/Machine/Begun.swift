public import UploadCore

/// A request that the machine began.
struct Begun: Equatable, Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case register, resume, send, finish, remove, commit
    }

    var id: RequestID
    var kind: Kind
    var keys: [ContentKey] = []
    var fragment = 0
    var skip: UInt32 = 0
    /// The ids to delete.
    var names: [String] = []
    /// The commit of a source, for a commit request.
    var commit: SourceCommit?
    var at: MonotonicTime

    /// Creates a request from an action. Returns nil for actions that begin no request.
    init?(_ action: MachineAction, at time: MonotonicTime) {
        at = time
        switch action {
        case .register(let id, let keys): (self.id, kind, self.keys) = (id, .register, keys)
        case .resume(let id, let key): (self.id, kind, keys) = (id, .resume, [key])
        case .send(let id, let key, let fragment, let skip):
            (self.id, kind, keys, self.fragment, self.skip) = (id, .send, [key], fragment, skip)
        case .finish(let id, let keys): (self.id, kind, self.keys) = (id, .finish, keys)
        case .remove(let id, let handles): (self.id, kind, names) = (id, .remove, handles.map(\.id))
        case .commit(let id, let commit): (self.id, kind, self.commit) = (id, .commit, commit)
        default: return nil
        }
    }
}

/// The server's answer to a request, for each upload in the request.
enum Reply: Equatable, Sendable {
    /// The requested result: an id, an acknowledgement, a confirmation, a deletion.
    case success
    case registered(String, ResumePoint)
    case existing
    case unasked
    case offset(UInt64)
    case fragments([Int: String])
    case receipt(String)
    case took(Duration)
    case assembling
    case unassembled
    case failure(RemoteFailure)

    /// Returns the events that pass the answer to the machine.
    func events(for request: Begun) -> [MachineEvent] {
        if request.kind == .remove {
            if case .failure(let failure) = self { return [.removalFailed(request.id, failure)] }
            return [.removed(request.id)]
        }
        if request.kind == .commit {
            if case .failure(let failure) = self { return [.commitFailed(request.id, failure)] }
            return [.committed(request.id, .done(url: "http://x/post"))]
        }
        return request.keys.map { event(for: request, $0) }
    }

    func event(for request: Begun, _ key: ContentKey) -> MachineEvent {
        let id = request.id
        switch (self, request.kind) {
        case (.failure(let failure), _): return .failed(id, key, failure)
        case (.registered(let name, let point), .register): return .registered(id, key, RemoteHandle(id: name), point)
        case (.unasked, .register): return .registered(id, key, RemoteHandle(id: ""), .unasked)
        case (.existing, .register): return .existing(id, key, RemoteObject(id: "old-\(key.high)", url: nil))
        case (_, .register): return .registered(id, key, RemoteHandle(id: "\(key.high)-\(id)"), .asRecorded)
        case (.offset(let bytes), .resume): return .resumed(id, key, .offset(bytes))
        case (.fragments(let receipts), .resume): return .resumed(id, key, .fragments(receipts))
        case (.unasked, .resume): return .resumed(id, key, .unasked)
        case (_, .resume): return .resumed(id, key, .asRecorded)
        case (.receipt(let receipt), .send):
            return .acknowledged(id, key, fragment: request.fragment, receipt: receipt, took: .seconds(1))
        case (.took(let took), .send):
            return .acknowledged(id, key, fragment: request.fragment, receipt: nil, took: took)
        case (_, .send):
            return .acknowledged(id, key, fragment: request.fragment, receipt: nil, took: .seconds(1))
        case (.assembling, .finish): return .finished(id, key, .assembling)
        case (.unassembled, .finish): return .finished(id, key, .failed(.unassembled))
        case (_, .finish): return .finished(id, key, .confirmed(RemoteObject(id: nil, url: "http://x/\(key.high)")))
        case (_, .remove): return .removed(id)
        case (_, .commit): return .committed(id, .done(url: nil))
        }
    }
}

extension FileError {
    static let refused = FileError(code: "refused", message: "no", retryable: false)
    static let busy = FileError(code: "server_error", message: "500", retryable: true)
    static let signedOut = FileError(code: "signed_out", message: "401", retryable: true)
    static let unassembled = FileError(code: "assembly_failed", message: "could not assemble", retryable: true)
}

extension RemoteFailure {
    static let busy = RemoteFailure.temporary(.busy)
    static let refused = RemoteFailure.permanent(.refused)
    static let unauthorized = RemoteFailure.signedOut(.signedOut)

    static func source(_ path: RelativePath, _ kind: SourceProblem.Kind) -> RemoteFailure {
        .source(SourceProblem(path: path, kind: kind))
    }
}

extension RelativePath: ExpressibleByStringLiteral {
    /// For tests only: an invalid path becomes the outbox itself.
    public init(stringLiteral text: String) { self = RelativePath(text) ?? .root }
}

extension RemoteTraits {
    static let fileSection = RemoteTraits(batch: 50, lookahead: 50)
    static let tus = RemoteTraits(batch: 1, inOrder: true, asksBeforeResuming: true)
    /// Like tus with requests that send many blocks of 512 KiB.
    static let stream = RemoteTraits(batch: 1, inOrder: true, asksBeforeResuming: true, fragmentSize: 16 << 20)
    static let s3 = RemoteTraits(batch: 1, asksAfterRestart: true, fragmentSize: 5 << 20, maximumFragments: 10_000)
}

/// Returns a content with this many fragments of 512 KiB, identified by its number.
func content(_ number: UInt64, fragments: Int = 1) -> DropContent {
    content(number, bytes: UInt64(fragments) * UInt64(FragmentPlan.sectionSize))
}

/// Returns a content of this size, identified by its number.
func content(_ number: UInt64, bytes: UInt64) -> DropContent {
    DropContent(key: ContentKey(high: number, low: 0), seal: ContentSeal(size: bytes, digest: number))
}

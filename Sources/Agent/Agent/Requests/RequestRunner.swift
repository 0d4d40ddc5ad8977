import Clocks
import Digests
import Intake
import Ledger
import MediaTools
import Remotes
import UploadCore

/// Performs the requests that the upload machine decided on, and measures how fast they are.
///
/// Not `Sendable`, so the compiler confines it to the thread of its owner. Requests run in tasks, whose results reach
/// the owner through `report`.
final class RequestRunner {
    /// What the owner must handle.
    enum News: Sendable {
        /// A request ended with these events for the upload machine. The owner also passes them to `end`.
        case ended(RequestID, [MachineEvent], wasSending: Bool)
        /// The peer of the connection acknowledged so many bytes of a request. The owner passes this to `reach`. The event
        /// tells the upload machine; `nil` if the protocol counts whole fragments only.
        case reached(RequestID, bytes: UInt64, MachineEvent?)
        /// The ledger could not be read.
        case ledgerFailed(LedgerError)
    }

    /// The components that the runner uses.
    struct Parts {
        var remote: any Remote
        /// Commits posts; `nil` if the protocol has no posts.
        var sources: (any SourceRemote)?
        var files: OutboxFiles
        var ledger: Ledger
        /// The stored products; `nil` if no type of file has a recipe.
        var products: ContentFolder?
        var secret: DigestSecret
        var clock: any Clocks
    }

    private let parts: Parts
    private let report: @Sendable (News) -> Void
    private var requests: [RequestID: Task<Void, Never>] = [:]
    private var openFiles: OpenFiles
    /// Speeds, and progress of fragments in flight.
    private(set) var figures = TransferFigures()

    init(_ parts: Parts, report: @escaping @Sendable (News) -> Void) {
        self.parts = parts
        self.report = report
        openFiles = OpenFiles(files: parts.files, products: parts.products)
    }

    /// The number of requests in progress.
    var count: Int { requests.count }

    private var now: MonotonicTime { parts.clock.now.monotonic }

    // MARK: Requests

    /// Begins the request of an action, or cancels requests. Ignores actions that need no request.
    ///
    /// - Returns: the events of a request that could not begin; empty if it did.
    func perform(_ action: MachineAction, _ uploads: UploadFacts) -> [MachineEvent] {
        switch action {
        case .register(let id, let keys): register(id, keys, uploads)
        case .resume(let id, let key): return resume(id, key, uploads)
        case .send(let id, let key, let fragment, let skip): return send(id, key, fragment, skip: skip, uploads)
        case .finish(let id, let keys): finish(id, keys, uploads)
        case .remove(let id, let names): remove(id, names)
        case .commit(let id, let commit): return self.commit(id, commit)
        case .cancel(let ids):
            for id in ids {
                requests.removeValue(forKey: id)?.cancel()
                figures.end(id)
            }
        case .write, .ended, .takeAgain, .commitEnded, .commitChanged, .broughtIn, .leftToLedger, .changed, .allChanged,
            .serverTrouble, .refusal:
            break
        }
        return []
    }

    /// Records the end of a request.
    ///
    /// - Returns: the number of bytes that each acknowledged request sent.
    func end(_ id: RequestID, _ events: [MachineEvent], _ uploads: UploadFacts) -> [Int] {
        requests[id] = nil
        defer { figures.end(id) }
        var sizes: [Int] = []
        for case .acknowledged(let id, let key, let fragment, _, _) in events {
            guard let plan = uploads.plan(of: key) else { continue }
            let bytes = figures.length(of: id) ?? UInt64(plan.range(of: fragment).count)
            sizes.append(Int(bytes))
            figures.acknowledge(bytes, by: id, of: key, at: now)
        }
        return sizes
    }

    /// Records progress within a fragment. On a slow link, the server takes a minute to confirm a whole fragment.
    ///
    /// - Returns: the upload that made progress; `nil` if none did.
    func reach(_ bytes: UInt64, by id: RequestID) -> ContentKey? {
        requests[id] == nil ? nil : figures.reach(bytes, by: id, at: now)
    }

    /// Cancels all requests.
    func cancelAll() {
        for request in requests.values { request.cancel() }
    }

    private func start(
        _ id: RequestID, isSending: Bool = false, _ work: @escaping @Sendable () async -> [MachineEvent]
    ) {
        requests[id] = Task(executorPreference: parts.remote.executor) { [report] in
            report(.ended(id, await work(), wasSending: isSending))
        }
    }

    private func register(_ id: RequestID, _ keys: [ContentKey], _ uploads: UploadFacts) {
        let known = keys.compactMap { key in uploads.description(of: key).map { (key, $0) } }
        start(id) { [remote = parts.remote] in
            let results = known.isEmpty ? [] : await remote.register(known.map(\.1))
            let events = zip(known, results).map { upload, result -> MachineEvent in
                switch result {
                case .success(.registered(let handle, let point)):
                    .registered(id, upload.0, handle, point)
                case .success(.existing(let object, let byMD5Alone)):
                    .existing(id, upload.0, object, byMD5Alone: byMD5Alone)
                case .failure(let failure): .failed(id, upload.0, failure)
                }
            }
            return events + RequestRunner.dropped(keys, but: known.map(\.0), id)
        }
    }

    private func resume(_ id: RequestID, _ key: ContentKey, _ uploads: UploadFacts) -> [MachineEvent] {
        guard let upload = uploads.remoteUpload(of: key) else { return [.failed(id, key, .cancelled)] }
        start(id) { [remote = parts.remote] in
            do throws(RemoteFailure) {
                return [.resumed(id, key, try await remote.resume(upload))]
            } catch {
                return [.failed(id, key, error)]
            }
        }
        return []
    }

    private func finish(_ id: RequestID, _ keys: [ContentKey], _ uploads: UploadFacts) {
        let known = keys.compactMap { uploads.remoteUpload(of: $0) }
        let machine = uploads.machine
        let confirmed = known.filter { machine.isVerification(of: $0.key) }
        let sent = known.filter { !machine.isVerification(of: $0.key) }
        start(id) { [remote = parts.remote] in
            var results = sent.isEmpty ? [] : await remote.finish(sent)
            if !confirmed.isEmpty { results += await remote.prove(confirmed) }
            let events = zip(sent + confirmed, results).map { upload, result -> MachineEvent in
                switch result {
                case .success(let outcome): .finished(id, upload.key, outcome)
                case .failure(let failure): .failed(id, upload.key, failure)
                }
            }
            return events + RequestRunner.dropped(keys, but: known.map(\.key), id)
        }
    }

    /// Returns the events for uploads that were dropped before their request began.
    private static func dropped(_ keys: [ContentKey], but known: [ContentKey], _ id: RequestID) -> [MachineEvent] {
        let known = Set(known)
        return keys.filter { !known.contains($0) }.map { .failed(id, $0, .cancelled) }
    }

    private func remove(_ id: RequestID, _ handles: [RemoteHandle]) {
        start(id) { [remote = parts.remote] in
            do throws(RemoteFailure) {
                try await remote.remove(handles)
                return [.removed(id)]
            } catch {
                return [.removalFailed(id, error)]
            }
        }
    }

    private func commit(_ id: RequestID, _ commit: SourceCommit) -> [MachineEvent] {
        guard let remote = parts.sources else { return [.committed(id, .done(url: nil))] }
        start(id) {
            do throws(RemoteFailure) {
                return [.committed(id, try await remote.commit(commit))]
            } catch {
                return [.commitFailed(id, error)]
            }
        }
        return []
    }

    // MARK: Fragments

    private func send(
        _ id: RequestID, _ key: ContentKey, _ fragment: Int, skip: UInt32, _ uploads: UploadFacts
    ) -> [MachineEvent] {
        guard let upload = uploads.remoteUpload(of: key) else { return [.failed(id, key, .cancelled)] }
        let body: FragmentReader
        do throws(SourceProblem) {
            body = try reader(of: key, upload.plan.range(of: fragment), uploads)
        } catch {
            openFiles.close(key)
            return [.failed(id, key, .source(error))]
        }
        let isStream = parts.remote.traits.inOrder
        figures.begin(id, key, of: body.length - min(UInt64(skip), body.length), isStream: isStream, at: now)
        var outgoing = OutgoingFragment(upload: upload, index: fragment, skip: skip, body: body) { [report] bytes in
            report(.reached(id, bytes: bytes, isStream ? .passed(id, key, bytes: UInt64(skip) + bytes) : nil))
        }
        outgoing.longestRequest = uploads.machine.longestRequest
        start(id, isSending: true) { [remote = parts.remote, clock = parts.clock, outgoing] in
            let begin = clock.now.monotonic
            do throws(RemoteFailure) {
                let receipt = try await remote.send(outgoing)
                let took = clock.now.monotonic - begin
                return [.acknowledged(id, key, fragment: fragment, receipt: receipt, took: took)]
            } catch {
                return [.failed(id, key, error)]
            }
        }
        return []
    }

    /// Returns a reader for the verified bytes of a fragment. Any path that holds the content may serve.
    private func reader(
        of key: ContentKey, _ range: Range<UInt64>, _ uploads: UploadFacts
    ) throws(SourceProblem) -> FragmentReader {
        let source = try openFiles.source(of: key, uploads)
        // Treat missing digests like different ones: the file is hashed again.
        guard let expected = expected(of: key, range, uploads) else {
            throw SourceProblem(path: source.path, kind: .changed)
        }
        return FragmentReader(
            file: source.file, path: source.path, range: range, expected: expected, secret: parts.secret,
            lane: parts.files.lane(of: source.path))
    }

    /// Returns what the bytes of a fragment must match; `nil` if the ledger lacks it or can't be read.
    private func expected(
        of key: ContentKey, _ range: Range<UInt64>, _ uploads: UploadFacts
    ) -> FragmentReader.Expected? {
        if let seal = uploads.seal(of: key), seal.isOfOneBlock { return .seal(seal) }
        let blockSize = UInt64(BlockDigester.blockSize)
        let first = Int(range.lowerBound / blockSize)
        let last = Int((range.upperBound + blockSize - 1) / blockSize)
        do {
            let digests = try parts.ledger.digests(of: key, blocks: first..<max(first, last))
            return digests.count == last - first ? .digests(digests) : nil
        } catch {
            report(.ledgerFailed(error))
            return nil
        }
    }

    // MARK: Files

    /// Closes the file of an upload, because it no longer holds the content.
    func closeFile(of key: ContentKey) { openFiles.close(key) }

    /// Closes the file of an upload that sends nothing. Thousands of uploads may wait for the server.
    func closeIdleFile(of key: ContentKey, _ uploads: @autoclosure () -> UploadFacts) {
        if openFiles.isOpen(key), !uploads().isSending(key) { openFiles.close(key) }
    }

    /// Closes the file of an upload if it was opened under this name, which the file no longer has.
    func renamed(_ old: RelativePath, of key: ContentKey) { openFiles.close(key, at: old) }

    /// Forgets everything about an upload that ended.
    func forget(_ key: ContentKey) {
        openFiles.close(key)
        figures.forget(key)
    }
}

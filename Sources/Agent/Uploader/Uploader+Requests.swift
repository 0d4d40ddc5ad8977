import AgentSupport
import ControlAPI
import Intake
import Ledger
import LinuxSystem
import Logging
import Portrait
import Remotes
import Reports
import Session
import SystemPackage
import UploadCore

/// An open file whose fragments are being read.
struct OpenSource {
    var path: RelativePath
    var file: SharedDescriptor
}

// Carries out the decisions of the upload machine.
extension Uploader {
    func perform(_ actions: [MachineAction], reporting paths: [RelativePath] = []) {
        var changed: Set<ContentKey> = []
        for action in actions {
            switch action {
            case .write: break
            case .register(let id, let keys): register(id, keys)
            case .resume(let id, let key): resume(id, key)
            case .send(let id, let key, let fragment, let skip): send(id, key, fragment: fragment, skip: skip)
            case .finish(let id, let keys): finish(id, keys)
            case .remove(let id, let names): remove(id, names)
            case .cancel(let ids):
                for id in ids {
                    requests.removeValue(forKey: id)?.cancel()
                    bytesInFlight.end(id)
                }
            case .ended(let path, let key, _, _): ended(path, key)
            case .takeAgain(let path, let key): takeAgain(path, key)
            case .commit(let id, let commit): self.commit(id, commit)
            case .commitEnded(let id, let revision, let outcome): commitEnded(id, revision: revision, outcome)
            case .commitChanged(let id): if let directory = sources.directory(withID: id) { noteChange(of: directory) }
            case .changed(let key): changed.insert(key)
            case .allChanged:
                changed.formUnion(machine.keys)
                for directory in sources.directories where sources[directory]?.record.isUnderWay == true {
                    noteChange(of: directory)
                }
            case .serverTrouble(let error): serverTrouble(error)
            }
        }
        for key in changed {
            announce(key)
            closeIdleFile(of: key)
        }
        for record in paths.compactMap(record) { announce(record) }
    }

    private func ended(_ path: RelativePath, _ key: ContentKey) {
        if let record = record(of: path) { announce(record) }
        if machine.record(of: key) == nil { forgetUpload(key) }
        retire(path)
    }

    /// Closes the file of an upload that sends nothing. Thousands of uploads may wait for the server.
    private func closeIdleFile(of key: ContentKey) {
        guard openFiles[key] != nil else { return }
        let isSending = machine.waiters(of: key).contains { machine.view(of: key, from: $0)?.state == .uploading }
        if !isSending { openFiles[key] = nil }
    }

    func forgetUpload(_ key: ContentKey) {
        openFiles[key] = nil
        speeds[key] = nil
    }

    private func takeAgain(_ path: RelativePath, _ key: ContentKey) {
        openFiles[key] = nil
        if book.drops[path]?.key == key { handle(.lookAgain(path)) }
    }

    private func serverTrouble(_ error: FileError?) {
        status.problems[.server] = error?.message
        parts.portrait?.service.handle(.serverTrouble(error))
        if error?.code != "signed_out" {
            parts.session.stopWatching()
        }
        guard let error else {
            parts.logger.notice("the server is back")
            return
        }
        let metadata: Logger.Metadata = ["code": "\(error.code)", "reason": "\(error.message)"]
        if error.code == "signed_out" {
            parts.logger.warning(
                "the server requires another token: run `outbox login`, or write it to remote.token_file; uploads then continue",
                metadata: metadata)
            watchForToken()
        } else {
            parts.logger.warning(
                "the server has a problem; uploads continue by themselves once it recovers", metadata: metadata)
        }
    }

    // MARK: Requests

    func start(
        _ id: RequestID, isSending: Bool = false, _ work: @escaping @Sendable () async -> [MachineEvent]
    ) {
        if isSending { status.counters.beganToSend() }
        requests[id] = Task { [weak self] in
            let events = await work()
            self?.run { uploader in
                uploader.requests[id] = nil
                if isSending { uploader.status.counters.ended(sending: events) }
                uploader.measure(events)
                uploader.bytesInFlight.end(id)
                uploader.process(events)
            }
        }
    }

    private func measure(_ events: [MachineEvent]) {
        for case .acknowledged(let id, let key, let fragment, _, _) in events {
            guard let plan = machine.record(of: key)?.plan else { continue }
            let bytes = UInt64(plan.range(of: fragment).count)
            status.counters.acknowledged(bytes: Int(bytes))
            speeds[key, default: SpeedMeter()].add(
                bytes - min(bytes, bytesInFlight.measured(by: id)), at: now.monotonic)
        }
    }

    /// Reports progress within a fragment. On a slow link, the server takes a minute to confirm a whole fragment.
    private func reached(_ bytes: UInt64, _ id: RequestID) {
        guard requests[id] != nil, let (key, gain) = bytesInFlight.reach(bytes, by: id) else { return }
        speeds[key, default: SpeedMeter()].add(gain, at: now.monotonic)
        for path in machine.waiters(of: key) {
            if let record = book.drops[path] { events.publish(makeReport(record)) }
        }
    }

    private func register(_ id: RequestID, _ keys: [ContentKey]) {
        let known = keys.compactMap { key in describe(key).map { (key, $0) } }
        start(id) { [remote = parts.remote] in
            let results = known.isEmpty ? [] : await remote.register(known.map(\.1))
            var events = zip(known, results).map { upload, result -> MachineEvent in
                switch result {
                case .success(.registered(let remoteID, let point)):
                    .registered(id, upload.0, remoteID: remoteID, point)
                case .success(.existing(let object)): .existing(id, upload.0, object)
                case .failure(let failure): .failed(id, upload.0, failure)
                }
            }
            // Uploads that were dropped before their request began.
            for key in keys where !known.contains(where: { $0.0 == key }) {
                events.append(.failed(id, key, .cancelled))
            }
            return events
        }
    }

    /// Returns the description of a content for its registration. The facts come from the content's first path.
    private func describe(_ key: ContentKey) -> UploadDescription? {
        guard let upload = machine.record(of: key) else { return nil }
        guard let path = machine.waiters(of: key).min(), let record = book.drops[path] else { return nil }
        var description = UploadDescription(
            key: key, plan: upload.plan, path: path, type: record.type ?? .other,
            modified: record.identity.map { $0.modified / 1_000_000 })
        description.facts = record.facts ?? MediaFacts()
        description.sha256 = upload.sha256
        return description
    }

    private func remoteUpload(_ key: ContentKey) -> RemoteUpload? {
        guard let upload = machine.record(of: key), let id = upload.remoteID else { return nil }
        let type = machine.waiters(of: key).lazy.compactMap { self.book.drops[$0]?.type }.first ?? .other
        return RemoteUpload(key: key, id: id, plan: upload.plan, type: type, receipts: machine.receipts(of: key))
    }

    private func resume(_ id: RequestID, _ key: ContentKey) {
        guard let upload = remoteUpload(key) else { return process([.failed(id, key, .cancelled)]) }
        start(id) { [remote = parts.remote] in
            do throws(RemoteFailure) {
                return [.resumed(id, key, try await remote.resume(upload))]
            } catch {
                return [.failed(id, key, error)]
            }
        }
    }

    private func finish(_ id: RequestID, _ keys: [ContentKey]) {
        let known = keys.compactMap { remoteUpload($0) }
        start(id) { [remote = parts.remote] in
            let results = known.isEmpty ? [] : await remote.finish(known)
            var events = zip(known, results).map { upload, result -> MachineEvent in
                switch result {
                case .success(let outcome): .finished(id, upload.key, outcome)
                case .failure(let failure): .failed(id, upload.key, failure)
                }
            }
            for key in keys where !known.contains(where: { $0.key == key }) {
                events.append(.failed(id, key, .cancelled))
            }
            return events
        }
    }

    private func remove(_ id: RequestID, _ names: [String]) {
        start(id) { [remote = parts.remote] in
            do throws(RemoteFailure) {
                try await remote.remove(names)
                return [.removed(id)]
            } catch {
                return [.removalFailed(id, error)]
            }
        }
    }

    private func send(_ id: RequestID, _ key: ContentKey, fragment: Int, skip: UInt32) {
        guard let upload = remoteUpload(key) else { return process([.failed(id, key, .cancelled)]) }
        let body: FragmentReader
        do throws(SourceProblem) {
            body = try reader(of: key, upload.plan.range(of: fragment))
        } catch {
            openFiles[key] = nil
            return process([.failed(id, key, .source(error))])
        }
        markStarted(key, isLong: upload.plan.count > 1)
        bytesInFlight.begin(id, key, of: body.length)
        if speeds[key] == nil { speeds[key, default: SpeedMeter()].add(0, at: now.monotonic) }
        let outgoing = OutgoingFragment(upload: upload, index: fragment, skip: skip, body: body) { [weak self] bytes in
            self?.run { $0.reached(bytes, id) }
        }
        start(id, isSending: true) { [remote = parts.remote, clock = parts.clock] in
            let begin = clock.now.monotonic
            do throws(RemoteFailure) {
                let receipt = try await remote.send(outgoing)
                let took = clock.now.monotonic - begin
                return [.acknowledged(id, key, fragment: fragment, receipt: receipt, took: took)]
            } catch {
                return [.failed(id, key, error)]
            }
        }
    }

    /// Records when the first fragment of a path was sent; durably if the upload has more than one fragment.
    private func markStarted(_ key: ContentKey, isLong: Bool) {
        var writes: [LedgerWrite] = []
        for path in machine.waiters(of: key) {
            if let write = book.begin(path, at: now.wall) { writes.append(write) }
        }
        if isLong && !writes.isEmpty { parts.ledger.commit(writes) {} }
    }

    // MARK: Bytes

    /// Returns a reader for the verified bytes of a fragment. Any path that holds the content may serve.
    private func reader(of key: ContentKey, _ range: Range<UInt64>) throws(SourceProblem) -> FragmentReader {
        let source = try source(of: key)
        let blockSize = UInt64(FragmentPlan.sectionSize)
        let first = Int(range.lowerBound / blockSize)
        let last = Int((range.upperBound + blockSize - 1) / blockSize)
        var digests: [UInt64] = []
        do {
            for block in first..<max(first, last) {
                if let digest = try parts.ledger.digest(of: key, block: block) { digests.append(digest) }
            }
        } catch {
            ledgerFailed(error)
        }
        // Treat missing digests like different ones: the file is hashed again.
        guard digests.count == last - first else { throw SourceProblem(path: source.path, kind: .changed) }
        return FragmentReader(
            file: source.file, path: source.path, range: range, digests: digests, secret: parts.secret)
    }

    private func source(of key: ContentKey) throws(SourceProblem) -> OpenSource {
        if let open = openFiles[key], book.drops[open.path]?.key == key { return open }
        var problem: SourceProblem?
        for path in machine.waiters(of: key).sorted() {
            do throws(SourceProblem) {
                let source = try openSource(path)
                openFiles[key] = source
                return source
            } catch {
                // Report a changed file at once, but a missing file only if no other path serves.
                if error.kind == .changed { throw error }
                problem = problem ?? error
            }
        }
        throw problem ?? SourceProblem(path: .root, kind: .missing)
    }

    private func openSource(_ path: RelativePath) throws(SourceProblem) -> OpenSource {
        let opened: (file: SharedDescriptor, status: FileStatus)
        do throws(Errno) {
            opened = try parts.files.open(path)
        } catch {
            throw SourceProblem(path: path, kind: kind(of: error, path))
        }
        guard let identity = book.drops[path]?.identity, identity.isSameFile(as: FileIdentity(opened.status)) else {
            throw SourceProblem(path: path, kind: .changed)
        }
        return OpenSource(path: path, file: opened.file)
    }

    private func kind(of error: Errno, _ path: RelativePath) -> SourceProblem.Kind {
        switch error {
        case .noSuchFileOrDirectory, .notDirectory, .staleNFSFileHandle: return .missing
        case .invalidArgument, .tooManySymbolicLinkLevels: return .changed
        // Resource shortages and a lease that its holder must give back are not the file's fault. Retry.
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .wouldBlock, .ioError: return .missing
        default:
            let message = "\(path) can't be read: \(error); check its permissions"
            return .unreadable(FileError(code: "unreadable", message: message, retryable: false))
        }
    }
}

import HTTPTypes
import LinuxSystem
import MediaTools
import PictureJobs
import Transport
import UploadCore

extension AvatarCache {
    /// Performs the desk's actions.
    func perform(_ actions: [AvatarDesk.Action]) {
        for action in actions {
            switch action {
            case .download(let address, let job): jobs[job] = Task { await self.download(address, job) }
            case .draw(let wish, let job): jobs[job] = Task { await self.draw(wish, job) }
            case .stop(let job): jobs.removeValue(forKey: job)?.cancel()
            case .deliver(let wish, let waiters): deliver(wish, to: waiters)
            case .fail(let waiters, let failure): answer(waiters, .failure(failure))
            }
        }
        // Pictures that exceeded the limit stayed for their waiters, and may go now.
        if isOvergrown, actions.contains(where: \.isAnswer) { trim() }
    }

    // MARK: Downloads

    private func download(_ address: AvatarAddress, _ job: AvatarDesk.Job) async {
        defer { jobs[job] = nil }
        // The URL may have been blacklisted since the request: the download waited for its turn, or the original was
        // removed.
        if let verdict = blacklist.verdict(on: address, now: clock.now().monotonic), !isKept(address) {
            return perform(desk.downloadFailed(job, AvatarFailure(verdict)))
        }
        do {
            let isNew = try await refresh(address, job)
            guard desk.isWanted(job) else { return }
            patience[address] = nil
            perform(desk.downloadSucceeded(job, isNew: isNew))
        } catch {
            guard desk.isWanted(job) else { return }
            end(job, address, error)
        }
    }

    private func isKept(_ address: AvatarAddress) -> Bool { (try? store.original(of: address)) != nil }

    /// Requests an original, or its revalidation, and stores the result.
    ///
    /// - Returns: Whether the original changed.
    private func refresh(_ address: AvatarAddress, _ job: AvatarDesk.Job) async throws(AvatarFailure) -> Bool {
        let draft = try inStore { () throws(AvatarStoreError) in try store.makeDraft() }
        let old = try inStore { () throws(AvatarStoreError) in try store.original(of: address) }?.record
        // A picture fetched without TLS may be forged, with the server's tag. Do not let the server confirm it.
        let known = address.isSecure && old?.isSecure == false ? nil : old
        let request = AvatarRequest(
            // After a fetch over TLS, later requests never use plain http.
            url: old.flatMap { $0.isSecure ? $0.url : nil } ?? address.url, entityTag: known?.entityTag,
            lastModified: known?.lastModified, maximumLength: options.maximumPictureLength)
        let answer: AvatarAnswer
        do {
            answer = try await fetcher.fetch(request, into: draft.file)
        } catch {
            throw note(error, address)
        }
        guard desk.isWanted(job) else { throw .cancelled }
        let now = clock.now()
        var record = AvatarRecord(
            url: request.url, type: old?.type ?? "", entityTag: answer.fields.first(.eTag),
            lastModified: answer.fields.first(.lastModified), fetchedAt: now.wall.milliseconds,
            freshUntil: Freshness(answer.fields).until(receivedAt: now.wall).milliseconds)
        switch answer.content {
        case .unchanged:
            record = record.refreshing(old, by: answer.fields)
            try inStore { () throws(AvatarStoreError) in try store.update(record, of: address) }
            memory.removeAll(of: address)
            blacklist.forget(address)
            return false
        case .body(let length):
            record.type = try await check(
                draft.file, address, by: worker(for: job), isFromElsewhere: answer.isFromElsewhere)
            guard desk.isWanted(job) else { throw .cancelled }
            try keep(draft, length: length, as: address, record)
            return true
        }
    }

    /// Stores a draft as the original of an address.
    func keep(_ draft: any AvatarDraft, length: UInt64, as address: AvatarAddress, _ record: AvatarRecord)
        throws(AvatarFailure)
    {
        let isNew = !isKept(address)
        _ = try inStore { () throws(AvatarStoreError) in try store.keep(draft, asOriginalOf: address, record) }
        memory.removeAll(of: address)
        blacklist.forget(address)
        undrawable.forget(address)
        onEvent(.kept(url: record.url, type: record.type))
        grow(by: length, isNew ? .picture : .replacement)
    }

    /// Checks that a draft is an acceptable picture.
    ///
    /// Without a worker, only the first bytes are checked, because nothing is decoded then.
    ///
    /// - Parameters:
    ///   - worker: Measures the picture.
    ///   - isFromElsewhere: Whether another host answered. A body that is no picture may then be a network's log-in
    ///     page, and is not the URL's fault.
    /// - Returns: The media type.
    func check(
        _ file: SharedDescriptor, _ address: AvatarAddress, by worker: any PictureWorking, isFromElsewhere: Bool = false
    ) async throws(AvatarFailure) -> String {
        guard let type = MediaSignatures.sniff(Self.prefix(of: file)), type.kind == .image else {
            let message = "\(address.url) is not a picture of a known type"
            throw note(.failed(isFromElsewhere ? .notItsFault : .notAPicture, message), address)
        }
        do {
            _ = try await worker.perform(.measure, on: file, into: nil, maximumPixels: options.maximumPixels)
        } catch {
            switch error {
            case .unavailable: break
            case .refused(let refusal): throw note(.failed(refusal.fault, refusal.message), address)
            case .killedWorker(let message): throw note(.failed(.killedWorker, message), address)
            case .failed(let message): throw .noWorker(message)
            case .cancelled: throw .cancelled
            }
        }
        return type.mime
    }

    private static func prefix(of file: SharedDescriptor) -> [UInt8] {
        withUnsafeTemporaryAllocation(byteCount: MediaSignatures.prefixLength, alignment: 1) { buffer in
            Array(buffer[..<((try? file.read(into: buffer, at: 0)) ?? 0)])
        }
    }

    /// The worker that measures and draws for a job.
    private func worker(for job: AvatarDesk.Job) -> any PictureWorking {
        desk.isUrgent(job) ? pictures : background
    }

    /// Blacklists the URL if it is at fault.
    private func note(_ error: AvatarFetchError, _ address: AvatarAddress) -> AvatarFailure {
        switch error {
        case .failed(let fault, let message):
            let line = message.contains(address.url) ? message : "\(address.url): \(message)"
            let until = blacklist.note(fault, line, of: address, now: clock.now())
            return until.map { .listed(fault, message: line, until: $0) } ?? .unreachable(line)
        case .notAllowed(let message): return .notAllowed("\(address.url): \(message)")
        case .storage(let message): return .storage(message)
        case .cancelled: return .cancelled
        }
    }

    /// Ends a failed download. An existing original is still used, unless its server says that it is gone.
    private func end(_ job: AvatarDesk.Job, _ address: AvatarAddress, _ failure: AvatarFailure) {
        if failure != .cancelled {
            onEvent(
                .failed(url: address.url, code: failure.code, message: failure.description, until: failure.until))
        }
        if case .listed(.status(let status), _, _) = failure, status == 404 || status == 410, address != pinned,
            (try? store.record(of: address)) != nil, (try? store.remove(address)) != nil
        {
            mirrored?.isExact = false
            perform(desk.downloadFailed(job, failure))
            return forgetRemoved([address])
        }
        guard isKept(address) else {
            return perform(
                desk.downloadFailed(job, failure) { (try? store.styled($0.address, $0.style)) != nil })
        }
        patience[address] = clock.now().monotonic + Self.stalePause
        perform(desk.downloadSucceeded(job, isNew: false))
    }

    // MARK: Drawings

    private func draw(_ wish: AvatarWish, _ job: AvatarDesk.Job) async {
        defer { jobs[job] = nil }
        do {
            try await drawStyled(wish, job)
            guard desk.isWanted(job) else { return }
            perform(desk.drawingEnded(job))
        } catch {
            guard desk.isWanted(job) else { return }
            perform(desk.drawingEnded(job, failure: error))
        }
    }

    private func drawStyled(_ wish: AvatarWish, _ job: AvatarDesk.Job) async throws(AvatarFailure) {
        let drawn = try inStore { () throws(AvatarStoreError) in try store.styled(wish.address, wish.style) }
        if drawn != nil { return }
        // If another program replaces the original meanwhile, the drawing is discarded.
        for _ in 0..<2 {
            let original = try inStore { () throws(AvatarStoreError) in try store.original(of: wish.address) }
            guard let original else { return perform(desk.contentRemoved(wish.address)) }
            let draft = try inStore { () throws(AvatarStoreError) in try store.makeDraft() }
            do {
                try await draw(wish.style, of: original.picture.file, into: draft.file, by: worker(for: job))
            } catch {
                throw failure(error, drawing: wish)
            }
            guard desk.isWanted(job) else { return }
            let isKept = try inStore { () throws(AvatarStoreError) in
                let kept = try store.keep(draft, asStyled: wish.address, wish.style, drawnFrom: original.picture)
                grow(by: kept.size, .style)
                return try store.styled(wish.address, wish.style) != nil
            }
            if isKept { return }
        }
    }

    private func draw(
        _ style: PictureStyle, of original: SharedDescriptor, into draft: SharedDescriptor,
        by worker: any PictureWorking
    ) async throws(PictureFailure) {
        _ = try await worker.perform(
            .draw(steps: style.steps.map(\.description)), on: original, into: draft,
            maximumPixels: options.maximumPixels)
        // The worker decodes untrusted data, so its output is not trusted either.
        guard Self.prefix(of: draft).starts(with: Self.pngSignature) else {
            throw .killedWorker("the picture worker did not draw a PNG")
        }
    }

    /// PNG signature (RFC 2083, section 12.12).
    private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    private func failure(_ error: PictureFailure, drawing wish: AvatarWish) -> AvatarFailure {
        let fault: AvatarFault
        let message: String
        switch error {
        case .refused(let refusal): (fault, message) = (refusal.fault, refusal.message)
        case .killedWorker(let text): (fault, message) = (.killedWorker, text)
        case .unavailable(let text), .failed(let text): return .noWorker("\(wish.address.url): \(text)")
        case .cancelled: return .cancelled
        }
        let line = "\(wish.address.url): \(message)"
        let until = undrawable.note(fault, line, of: wish.address, now: clock.now())
        return until.map { .listed(fault, message: line, until: $0) } ?? .noWorker(line)
    }
}

extension AvatarDesk.Action {
    /// Whether the action ends someone's wait.
    fileprivate var isAnswer: Bool {
        switch self {
        case .deliver, .fail: true
        case .download, .draw, .stop: false
        }
    }
}

extension AvatarRecord {
    /// Whether the original was fetched over TLS.
    var isSecure: Bool { url.hasPrefix("https:") }

    /// Merges a 304 into the old record (RFC 9111, section 4.3.4): fields missing in the reply keep their values.
    fileprivate func refreshing(_ old: AvatarRecord?, by fields: HTTPFields) -> AvatarRecord {
        guard let old else { return self }
        var record = self
        record.entityTag = entityTag ?? old.entityTag
        record.lastModified = lastModified ?? old.lastModified
        if !fields.contains(.cacheControl), !fields.contains(.expires) {
            let lifetime = old.freshUntil.subtractingReportingOverflow(old.fetchedAt).0
            record.freshUntil = fetchedAt.addingReportingOverflow(max(lifetime, 0)).0
        }
        return record
    }
}

extension PictureRefusal {
    fileprivate var fault: AvatarFault {
        switch reason {
        case .notAPicture, .damaged: .notAPicture
        case .tooManyPixels: .tooManyPixels
        }
    }
}

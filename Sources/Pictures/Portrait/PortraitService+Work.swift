import Clocks
import Text
import Logging
import Remotes
import SystemPackage
import UploadCore

// Performs the machine's actions.
extension PortraitService {
    func perform(_ action: PortraitMachine.Action) {
        switch action {
        case .prepare(let id, let drop): prepare(id, drop)
        case .scrap(let id):
            attempt("an obsolete profile picture can't be removed") { files throws(Errno) in try files.scrap(id) }
        case .store(let record): store(record)
        case .note(let record):
            attempt("the profile picture can't be recorded") { files throws(Errno) in try files.note(record) }
        case .upload(let request, let id): upload(request, id)
        case .cancel(let request): requests[request]?.cancel()
        case .settle(let record): settle(record)
        case .report(let report): outlets.report(report)
        case .announce(let event): announce(event)
        }
    }

    /// Performs work whose failure only needs a warning.
    private func attempt(_ failure: Logger.Message, _ work: (inout PortraitFiles) throws(Errno) -> Void) {
        do {
            try work(&files)
        } catch {
            parts.logger.warning(failure, metadata: ["path": "\(parts.state)/portrait", "reason": "\(error)"])
        }
    }

    private func store(_ record: PortraitRecord) {
        do {
            note(trouble: try files.store(record))
        } catch {
            return process(.postponed(record.id, storage(error)))
        }
        process(.stored(record.id))
    }

    func storage(_ error: Errno) -> FileError {
        let message = "the profile picture can't be stored in \(parts.state)/portrait: \(error); free some space there"
        return FileError(code: "storage", message: message, retryable: true)
    }

    private func announce(_ event: PortraitEvent) {
        switch event {
        case .pending(let path, _):
            parts.logger.info("another profile picture is shown", metadata: ["path": "\(path)"])
        case .changed: break
        case .done(let path, _, let url):
            parts.logger.info(
                "the server has the profile picture", metadata: ["path": "\(path)", "url": "\(url)"])
        case .discarded(let path, _, let error):
            parts.logger.warning(
                "the profile picture is discarded; the previous one is shown",
                metadata: ["path": "\(path)", "code": "\(error.code)", "reason": "\(error.message)"])
        }
        outlets.announce(event, profile().json)
    }

    // MARK: Sending

    private func upload(_ request: RequestID, _ id: UInt64) {
        let (remote, body): (any PortraitRemote, FileBody)
        do throws(RemoteFailure) {
            (remote, body) = try open(id)
        } catch {
            // Report the failure later, like every answer: the machine's other actions come first.
            return run { $0.process(.failed(request, error)) }
        }
        requests[request] = Task {
            let event: PortraitMachine.Event
            do throws(RemoteFailure) {
                event = .uploaded(request, url: try await remote.replacePortrait(body))
            } catch {
                event = .failed(request, error)
            }
            self.ended(request, event)
        }
    }

    /// Returns the remote and the bytes of the newest picture.
    private func open(_ id: UInt64) throws(RemoteFailure) -> (any PortraitRemote, FileBody) {
        guard let remote = parts.remote else { throw .permanent(PortraitMachine.unsupported) }
        do throws(Errno) {
            return (remote, try FileBody(try files.picture(id)))
        } catch {
            if error == .noSuchFileOrDirectory {
                throw .source(SourceProblem(path: machine.newest?.drop.path ?? .root, kind: .missing))
            }
            let message = "the profile picture can't be read from \(parts.state)/portrait now: \(error)"
            throw .temporary(FileError(code: "storage", message: message, retryable: true))
        }
    }

    private func ended(_ request: RequestID, _ event: PortraitMachine.Event) {
        requests[request] = nil
        if case .failed(_, .signedOut(let error)) = event { outlets.sessionRefused(error) }
        if case .failed(_, .temporary(let error, _, _)) = event {
            parts.logger.info(
                "the profile picture could not be sent; the agent tries again",
                metadata: ["code": "\(error.code)", "reason": "\(error.message)"])
        }
        process(event)
    }

    // MARK: Ending

    private func settle(_ record: PortraitRecord) {
        guard record.fate == .done, let url = record.url else {
            return settled { files throws(Errno) in try files.end(record) }
        }
        Task {
            let cached = await self.keep(record.id, url)
            let time = Timestamp.text(record.finishedAt ?? self.parts.clock.now.wall)
            self.settled { files throws(Errno) in
                try files.confirm(record, url: url, cached: cached, time: time)
            }
        }
    }

    private func settled(_ work: (inout PortraitFiles) throws(Errno) -> Errno?) {
        do {
            note(trouble: try work(&files))
        } catch {
            parts.logger.warning(
                "the outcome of the profile picture can't be stored; the agent tries again",
                metadata: ["path": "\(parts.state)", "reason": "\(error)"])
            return process(.unsettled(storage(error)))
        }
        process(.settled)
    }

    /// Copies the picture to the avatar cache.
    ///
    /// - Returns: Path of the copy. Nil if the cache could not store it: the picture is still confirmed, and shown
    ///   from the state directory.
    private func keep(_ id: UInt64, _ url: String) async -> String? {
        do {
            return try await parts.cache.adopt(try files.picture(id), Profile.cacheURL(of: url))
        } catch {
            parts.logger.warning(
                "the avatar cache can't store the profile picture, so it is shown from the state directory",
                metadata: ["url": "\(url)", "reason": "\(error)"])
            return nil
        }
    }
}

import Intake
import LinuxSystem
import Logging
import Reports
import Sidecars
import SystemPackage
import UploadCore

/// Moves files and posts out of the outbox (`intake.after_upload`), as the path book and the posts decide.
struct RetirementRunner: Sendable {
    /// Where the `source.toml` of a post went.
    enum Departure: Equatable {
        case deleted
        case moved(to: RelativePath)

        /// The directory where the file is now; `nil` if it was deleted.
        var destination: RelativePath? { if case .moved(let target) = self { target.parent } else { nil } }
    }

    let holding: HoldingArea
    let files: OutboxFiles
    let hashPool: HashPool
    let fate: Retirement.Fate
    let logger: Logger
    /// Receives the results of hashing.
    let report: @Sendable (RelativePath, RetirementEvent) -> Void

    // MARK: Files

    /// Carries out a step.
    ///
    /// - Parameter isStuck: whether the status already says that files can't leave the outbox.
    /// - Returns: what follows.
    func carryOut(_ step: RetirementStep, on path: RelativePath, isStuck: Bool) -> [AgentStep] {
        switch step {
        case .reportStuck(let errno): isStuck ? [] : [.problem(.afterUpload, describeProblem(path, errno: errno))]
        case .reportWorking: [.problem(.afterUpload, nil)]
        case .take, .check, .findName, .release, .delete, .putBack, .commit, .store:
            perform(step, on: path).map { [.path(.retirement(path, $0))] } ?? []
        }
    }

    /// Performs a step on disk.
    ///
    /// - Returns: the answer for the path book; `nil` if the answer comes later or the step needs none.
    func perform(_ step: RetirementStep, on path: RelativePath) -> RetirementEvent? {
        do throws(Errno) {
            switch step {
            case .take(let identity):
                return try call(path) { holding throws(Errno) in try holding.take(path, identity) } ? .taken : .replaced
            case .check(let identity):
                let job = HashPool.Job(path: HoldingArea.place(of: path), identity: identity) { [report] finding in
                    report(path, .checked(finding))
                }
                hashPool.add(job)
                return nil
            case .findName(let wanted, let except):
                return .named(
                    try call(wanted) { holding throws(Errno) in try holding.freeName(for: wanted, except: except) })
            case .release(let target):
                try call(target) { holding throws(Errno) in try holding.release(path, to: target) }
                return .left
            case .delete:
                try call(path) { holding throws(Errno) in try holding.delete(path) }
                return .left
            case .putBack:
                let name = try call(path) { holding throws(Errno) in try holding.putBack(path) }
                return .back(name, name.flatMap { files.look(at: $0).identity })
            case .commit, .store, .reportStuck, .reportWorking: return nil
            }
        } catch {
            if case .take = step, error == .staleNFSFileHandle { return .outboxAway }
            return .failed(errno: error.rawValue)
        }
    }

    /// Makes a call on a file system that may not answer.
    private func call<Result: Sendable>(
        _ path: RelativePath, _ body: @escaping @Sendable (HoldingArea) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        try files.call(path, "moving", keepsResult: false) { [holding] _ throws(Errno) in try body(holding) }
    }

    /// Puts back all files of the holding area that are not being handled, from this run or the previous one.
    func recover(except held: Set<RelativePath>) {
        let found = try? call(.root) { $0.recover(except: held) }
        guard let (files, failures) = found else { return }
        if !files.isEmpty {
            logger.notice(
                "files that were leaving the outbox are back; the agent checks them again, then moves or deletes them",
                metadata: ["files": "\(files.count)"])
        }
        for (path, error) in failures {
            logger.error(
                "a file can't be moved back into the outbox; it stays in the holding area",
                metadata: ["path": "\(HoldingArea.place(of: path))", "reason": "\(error)"])
        }
    }

    /// Logs that a file can't leave the outbox.
    ///
    /// - Returns: the problem for the agent's status.
    func describeProblem(_ path: RelativePath, errno: Int32) -> String {
        let error = Errno(rawValue: errno)
        let remedy =
            obstacle(for: path, error)
            ?? "make the outbox writable, and keep intake.move_to a directory on its file system"
        logger.error(
            "uploaded files can't be moved out of the outbox; the agent tries again after each full scan",
            metadata: ["path": "\(path)", "reason": "\(error)", "remedy": "\(remedy)"])
        return "\(path) can't be moved out of the outbox: \(error); \(remedy)"
    }

    private func obstacle(for path: RelativePath, _ error: Errno) -> String? {
        guard [.notPermitted, .tooManySymbolicLinkLevels, .notDirectory].contains(error) else { return nil }
        guard case .move(let directory) = fate else { return holding.obstacle(to: nil) }
        return holding.obstacle(to: directory.appending(path.bytes))
    }

    // MARK: Posts whose files left the outbox

    /// Moves or deletes the `source.toml` of a confirmed post. If this fails, the next full scan tries again.
    ///
    /// - Returns: where the file went; `nil` if it stays.
    func retire(post directory: RelativePath) -> Departure? {
        let description = PostPlaces.description(of: directory)
        do throws(Errno) {
            guard case .move(let destination) = fate else {
                try call(description) { holding throws(Errno) in try holding.remove(description) }
                return .deleted
            }
            let target = try call(description) { holding throws(Errno) in
                let target = try holding.freeName(for: destination.appending(description.bytes))
                try holding.move(description, to: target)
                return target
            }
            return .moved(to: target)
        } catch {
            warn(directory, error)
            return nil
        }
    }

    /// Has the sidecar of a post follow its `source.toml`. Where an earlier post from a directory of the same name left
    /// a sidecar, moves the sidecar to a free name beside it. Elsewhere a new sidecar is written.
    ///
    /// - Parameters:
    ///   - target: where the `source.toml` is now; `nil` if it was deleted.
    ///   - report: what the new sidecar says.
    func moveSidecar(
        ofPost directory: RelativePath, to target: RelativePath?, _ report: SourceReport?, _ sidecars: SidecarWriter
    ) {
        let name = Array(SourceReport.sidecarName.utf8)
        let wanted = target?.appending(name)
        guard let wanted, !files.isGone(wanted) else {
            sidecars.remove(source: directory)
            if let report { sidecars.note(source: report) }
            return
        }
        do throws(Errno) {
            try call(directory) { holding throws(Errno) in
                try holding.move(directory.appending(name), to: try holding.freeName(for: wanted))
            }
        } catch {
            warn(directory, error)
        }
    }

    private func warn(_ directory: RelativePath, _ error: Errno) {
        logger.warning(
            "the files of a post left the outbox, but its source.toml can't; the agent tries again",
            metadata: ["source": "\(directory)", "reason": "\(error)"])
    }
}

import Intake
import LinuxSystem
import MediaTools
import PictureJobs
import SystemPackage
import UploadCore

// Draws the profile picture from a dropped file.
extension PortraitService {
    /// Side of the thumbnail, in pixels.
    private static let thumbnailSide = 150

    func prepare(_ id: UInt64, _ drop: PortraitDrop) {
        preparation = Task {
            let event = await self.draw(id, drop)
            self.process(event)
        }
    }

    private func draw(_ id: UInt64, _ drop: PortraitDrop) async -> PortraitMachine.Event {
        let source: (file: SharedDescriptor, status: FileStatus)
        do throws(Errno) {
            source = try parts.files.open(drop.path)
        } catch {
            return unreadable(id, drop.path, error)
        }
        guard drop.identity.isSameFile(as: FileIdentity(source.status)) else { return changed(id, drop.path) }
        let draft: PortraitFiles.Draft
        do throws(Errno) {
            draft = try files.makeDraft(id)
        } catch {
            return postponed(id, error)
        }
        do throws(PictureFailure) {
            try await draw(.encode(quality: parts.quality), of: source.file, into: draft.picture)
            // Draw the thumbnail from the new picture: another program may change the file meanwhile, and the two must
            // match.
            try await draw(
                .thumbnail(side: Self.thumbnailSide, quality: parts.quality), of: draft.picture, into: draft.thumbnail)
        } catch {
            return failed(id, error)
        }
        guard let after = try? FileStatus(of: source.file.rawValue), after == source.status else {
            return changed(id, drop.path)
        }
        do throws(Errno) {
            try files.finish(draft, id)
        } catch {
            return postponed(id, error)
        }
        return .prepared(id)
    }

    private func draw(
        _ operation: PictureJob.Operation, of picture: SharedDescriptor, into output: SharedDescriptor
    ) async throws(PictureFailure) {
        _ = try await parts.pictures.perform(operation, on: picture, into: output, maximumPixels: parts.maximumPixels)
    }

    private func changed(_ id: UInt64, _ path: RelativePath) -> PortraitMachine.Event {
        outlets.reconsider(path)
        return .changed(id)
    }

    private func unreadable(_ id: UInt64, _ path: RelativePath, _ error: Errno) -> PortraitMachine.Event {
        let meaning = LocalError(error)
        // If the file is gone, the watch reports it if it matters.
        let isPassing = meaning.isPassing || meaning == .missing
        let failure = FileError.unreadable("\(path)", "\(error)", meaning.remedy, isPassing: isPassing)
        // Another object has this name by now; the watch reports it.
        if meaning == .replaced { return changed(id, path) }
        return isPassing ? .postponed(id, failure) : .unfit(id, .failed, failure)
    }

    private func postponed(_ id: UInt64, _ error: Errno) -> PortraitMachine.Event {
        .postponed(id, storage(error))
    }

    private func failed(_ id: UInt64, _ failure: PictureFailure) -> PortraitMachine.Event {
        switch failure {
        case .refused(let refusal):
            let error = FileError(code: refusal.reason.rawValue, message: refusal.message, retryable: false)
            return .unfit(id, .rejected, error)
        case .killedWorker(let reason):
            let message = "the picture worker did not survive the picture: \(reason)"
            return .killedWorker(id, FileError(code: "damaged", message: message, retryable: false))
        case .unavailable(let reason):
            let message = "no picture worker: \(reason); install libvips, see `outbox doctor`"
            return .postponed(id, FileError(code: "no_picture_worker", message: message, retryable: true))
        case .failed(let reason):
            let message = "the profile picture can't be drawn now: \(reason)"
            return .postponed(id, FileError(code: "picture_worker", message: message, retryable: true))
        case .cancelled:
            let message = "drawing the profile picture was interrupted"
            return .postponed(id, FileError(code: "picture_worker", message: message, retryable: true))
        }
    }
}

import LinuxSystem
import Logging
import SystemPackage
import UploadCore

// What becomes of a source once the server has confirmed it, where files do not stay in the outbox
// (`intake.after_upload`): its files go one by one as all files do, and `source.toml` goes last.
extension Uploader {
    /// Lets the files of a source leave the outbox that may.
    func retireFiles(of directory: RelativePath) {
        guard parts.afterUpload != .keep, let machine = sources[directory]?.machine, !machine.keepsFiles else { return }
        for name in machine.files.keys.sorted() { retire(directory.appending(name.bytes)) }
    }

    /// After a full scan: sources whose files have left go after them; where files are deleted, once the outcome was told
    /// for as long as it is kept.
    func retireSources() {
        guard parts.afterUpload != .keep else { return }
        for directory in sources.directories {
            guard let entry = sources[directory], case .done = entry.record.stage, !entry.machine.keepsFiles,
                let post = entry.record.post,
                post.files.keys.allSatisfy({ hasLeft(directory.appending($0.bytes)) })
            else { continue }
            do throws(Errno) {
                if parts.afterUpload == .move {
                    try moveOut(directory)
                } else {
                    try deleteOver(directory, entry.record)
                }
            } catch {
                parts.logger.warning(
                    "a source's files have left the outbox, but its source.toml can't; it is tried again",
                    metadata: ["source": "\(directory)", "reason": "\(error)"])
            }
        }
    }

    /// Whether a file is out of the outbox; one that is taken aside is still on its way.
    private func hasLeft(_ path: RelativePath) -> Bool {
        book.retiring[path] == nil && record(of: path)?.hasFile != true
    }

    private func moveOut(_ directory: RelativePath) throws(Errno) {
        guard var report = sourceReport(directory) else { return }
        let description = SourcePlaces.description(of: directory)
        let target = try parts.holding.freeName(for: parts.moveTo.appending(description.bytes))
        report.directory = target.parent
        report.files = report.files.map { file in
            guard case .movedAway(let target)? = record(of: file.path)?.disposal else { return file }
            return self.report(at: target) ?? file
        }
        try parts.holding.move(description, to: target)
        forgetSource(directory)
        let sidecar = RelativePath.root.appending(SourceReport.sidecarName.utf8)
        if parts.files.isGone(target.parent.appending(sidecar.bytes)) {
            parts.sidecars.remove(source: directory)
            parts.sidecars.note(source: report)
        } else {
            // That of an earlier post from a directory of the same name.
            let free = try parts.holding.freeName(for: target.parent.appending(sidecar.bytes))
            try parts.holding.move(directory.appending(sidecar.bytes), to: free)
        }
    }

    private func deleteOver(_ directory: RelativePath, _ record: SourceRecord) throws(Errno) {
        guard let end = record.finishedAt?.advanced(by: parts.retention), end.milliseconds <= now.wall.milliseconds
        else { return }
        try parts.holding.remove(SourcePlaces.description(of: directory))
        forgetSource(directory)
        parts.sidecars.remove(source: directory)
    }
}

import AgentConfiguration
import Intake
import LinuxSystem
import Logging
import Reports
import Sidecars
import SystemPackage
import UploadCore

// What happens to a confirmed source if files leave the outbox (`intake.after_upload`): the files leave one by one,
// and `source.toml` follows last.
extension Uploader {
    /// Retires all files of a source, unless the source must keep them.
    func retireFiles(of directory: RelativePath) {
        guard parts.afterUpload != .keep, let machine = sources[directory]?.machine, !machine.keepsFiles else { return }
        for name in machine.files.keys.sorted() { retire(directory.appending(name.bytes)) }
    }

    /// After a full scan, retires sources whose files have left. If files are deleted, a source stays until its
    /// retention ends.
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
                    "the files of a post left the outbox, but its source.toml can't; the agent tries again",
                    metadata: ["source": "\(directory)", "reason": "\(error)"])
            }
        }
    }

    /// Whether a file has left the outbox. A file in the holding area has not left yet.
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
            // An earlier post from a directory of the same name left this sidecar.
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

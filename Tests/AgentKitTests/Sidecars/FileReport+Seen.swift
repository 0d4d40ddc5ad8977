import UploadCore

@testable import AgentKit

extension FileReport {
    /// A report of a path at a fixed moment.
    static func seen(_ path: RelativePath, _ state: FileState = .settling) -> FileReport {
        FileReport(
            path: path, state: state, remoteProtocol: "filesection",
            acceptedAt: WallTime(milliseconds: 1_795_253_400_123), updatedAt: WallTime(milliseconds: 1_795_253_402_000))
    }
}

import UploadCore

@testable import AgentKit

extension SourceReport {
    /// A report of a source at a fixed moment.
    static func seen(_ directory: RelativePath, _ state: SourceState = .draft) -> SourceReport {
        SourceReport(
            id: "0123456789abcdef0123456789abcdef", directory: directory, state: state,
            acceptedAt: WallTime(milliseconds: 1_795_253_400_123), updatedAt: WallTime(milliseconds: 1_795_253_402_000))
    }
}

import FoundationEssentials
package import UploadCore

/// The content of a sidecar that the agent wrote.
///
/// If the ledger knows the path, the ledger decides and the sidecar does not count.
package struct SidecarWord: Equatable, Sendable {
    /// The path in the sidecar, relative to the outbox.
    var path: RelativePath
    /// The state in the sidecar. A source may be a `draft`.
    package var state: String
    /// Size of the file in bytes, if the sidecar has it.
    package var size: UInt64?
    /// `error.code`.
    var code: String?

    /// The state of a file; `nil` for states that only sources have.
    package var fileState: FileState? { FileState(rawValue: state) }

    /// Whether the user cancelled the file, as opposed to a removal or a newer picture.
    package var isCancelledByUser: Bool {
        state == FileState.cancelled.rawValue && ["cancelled", "dismissed"].contains(code)
    }

    /// Parses a sidecar's full text.
    ///
    /// - Returns: `nil` if the text is not a sidecar of the agent.
    init?(_ text: [UInt8]) {
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(text)), members.version == 1 else {
            return nil
        }
        let bytes = members.path_bytes.flatMap { Data(base64Encoded: $0) }.map { Array($0) }
        guard let path = RelativePath(bytes ?? Array(members.path.utf8)) else { return nil }
        self.path = path
        state = members.state
        size = members.size
        code = members.error?.code
    }

    private struct Members: Decodable {
        struct Failure: Decodable { var code: String }

        var version: Int
        var path: String
        var path_bytes: String?
        var state: String
        var size: UInt64?
        var error: Failure?
    }
}

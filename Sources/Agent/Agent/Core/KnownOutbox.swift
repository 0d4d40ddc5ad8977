import Ledger
import UploadCore

/// The outbox that the ledger's paths belong to, known by its identity (`OutboxFiles.identity`).
///
/// Another directory may take its place: another medium, or the empty mount point of an absent one. Then the files of
/// the known outbox do not count as removed.
struct KnownOutbox: Sendable {
    private var identity: [UInt8]?
    /// The absolute path of the known outbox; `nil` if the ledger does not know the path yet.
    private(set) var path: String?

    /// - Parameters:
    ///   - stored: the identity in the ledger; `nil` if the ledger knows no outbox yet.
    ///   - path: the path in the ledger.
    init(_ stored: [UInt8]? = nil, path: String? = nil) { (identity, self.path) = (stored, path) }

    /// Whether the present outbox is missing, or is not the known one. Returns false if no outbox is known.
    func differs(from present: [UInt8]?) -> Bool { identity.map { $0 != present } ?? false }

    /// Whether a path without a file means that the file is gone: the known outbox is present, and no file is awaited
    /// from another one.
    func isWhole(_ present: [UInt8]?, awaitsFiles: Bool) -> Bool {
        present != nil && !awaitsFiles && !differs(from: present)
    }

    /// After a full scan: makes the present outbox the known one, unless files of the known one are still missing.
    ///
    /// - Returns: the changes of the ledger.
    mutating func adopt(_ present: [UInt8]?, path: String, awaitsFiles: Bool) -> [LedgerWrite] {
        guard let present, !awaitsFiles, present != identity || path != self.path else { return [] }
        (identity, self.path) = (present, path)
        return [.setting(LedgerSetting.outbox, present), .setting(LedgerSetting.outboxPath, Array(path.utf8))]
    }

    /// Says which files wait because the present outbox is another directory than the known one.
    ///
    /// - Parameters:
    ///   - count: the number of files of the known outbox that are missing.
    ///   - root: the path of the present outbox.
    /// - Returns: a problem; `nil` if no file waits.
    func describeMissing(_ count: Int, in root: String) -> String? {
        if count == 0 { return nil }
        let subject = count == 1 ? "1 file belongs" : "\(count) files belong"
        let former = path.flatMap { $0 == root ? nil : "the former outbox \($0)" } ?? "another directory in its place"
        return "\(subject) to \(former): set `outbox` back, or copy the files here; `outbox cancel NAME` gives one up"
    }
}

import Ledger
import UploadCore

/// The outbox that the ledger's paths belong to, known by its identity (`OutboxFiles.identity`).
///
/// Another directory may take its place: another medium, or the empty mount point of an absent one. Then the files of
/// the known outbox do not count as removed.
struct KnownOutbox: Sendable {
    private var identity: [UInt8]?

    /// - Parameter stored: the identity in the ledger; `nil` if the ledger knows no outbox yet.
    init(_ stored: [UInt8]? = nil) { identity = stored }

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
    mutating func adopt(_ present: [UInt8]?, awaitsFiles: Bool) -> [LedgerWrite] {
        guard let present, !awaitsFiles, present != identity else { return [] }
        identity = present
        return [.setting(LedgerSetting.outbox, present)]
    }
}

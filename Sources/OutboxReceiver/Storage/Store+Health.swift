import SystemPackage

extension Store {
    /// Whether the store can take uploads.
    enum Health: String {
        case ok
        /// The free space is under the floor.
        case full = "the disk is full"
        /// The journal cannot be written. The housekeeping tries again.
        case failed = "the storage has failed"
    }

    var health: Health {
        do throws(Errno) {
            guard try spaceAboveFloor() > 0 else { return .full }
            return try root.isReadOnly() || withBooks { $0.journal.isUnwritable } ? .failed : .ok
        } catch {
            return .failed
        }
    }

    /// What a user stores, for `/metrics`.
    struct UserTotals {
        let user: String
        let files: Int
        let usage: Usage
    }

    var userTotals: [UserTotals] {
        let totals = withBooks { books in
            books.catalog.users.map { ($0, books.catalog.fileCount(of: $0), books.catalog.usage(of: $0)) }
        }
        return totals.sorted { $0.0 < $1.0 }.map { user, files, used in
            UserTotals(user: user, files: files, usage: Usage(used: used, quota: limits.quota(of: user)))
        }
    }
}

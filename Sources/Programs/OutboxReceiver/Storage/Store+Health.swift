import SystemPackage

extension Store {
    /// Whether the store can take uploads.
    enum Health: String {
        case ok
        /// The free space is under the floor.
        case full = "the disk is full"
        /// Less than a hundredth of the inodes is free.
        case noInodes = "the disk has hardly any inodes left"
        /// The journal cannot be written. The housekeeping tries again.
        case failed = "the storage has failed"
    }

    var health: Health {
        do throws(Errno) {
            guard try spaceAboveFloor() > 0 else { return try root.space().isShortOfInodes ? .noInodes : .full }
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
            books.catalog.users.map { user in
                UserTotals(
                    user: user, files: books.catalog.fileCount(of: user), usage: usage(of: user, books.catalog))
            }
        }
        return totals.sorted { $0.user < $1.user }
    }
}

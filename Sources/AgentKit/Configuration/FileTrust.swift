internal import CLinux
internal import Glibc

/// Who owns a file and who may change it: whether a configuration that nobody named can be believed.
///
/// A configuration decides which server gets the token. One that lies in the working directory may have been put there by
/// anybody who can write to the directory.
struct FileTrust: Equatable {
    /// The owner of the file.
    var owner: UInt32
    /// The owner of the name that was opened: of the symbolic link, where it is one.
    var nameOwner: UInt32
    /// Permission bits.
    var permissions: UInt32
    /// Whether the group can be other people than the owner.
    var isGroupShared: Bool

    /// Why a user does not believe the file, with what to do; nil where it is believed.
    ///
    /// - Parameter name: the file as it is named to the user.
    func objection(user: UInt32, name: String) -> String? {
        if let stranger = [owner, nameOwner].first(where: { $0 != user && $0 != 0 }) {
            return
                "belongs to \(UserName.shown(stranger)), so it is not used: it could send your token elsewhere; run this "
                + "in another directory, or say --config \(name) if you trust it"
        }
        let group: UInt32 = isGroupShared ? 0o020 : 0
        guard permissions & (0o002 | group) == 0 else {
            return
                "can be written to by others (mode \(Finding.mode(permissions))), so it is not used; run `chmod go-w "
                + "\(name)` after a look at it, or say --config \(name) if you trust it"
        }
        return nil
    }
}

extension FileTrust {
    /// Reads what the kernel and the user database say of a file.
    ///
    /// - Parameters:
    ///   - descriptor: the open file.
    ///   - path: the name it was opened by.
    /// - Returns: nil where the file cannot be looked at.
    init?(of descriptor: Int32, path: String) {
        var file = stat()
        var name = stat()
        guard fstat(descriptor, &file) == 0, lstat(path, &name) == 0 else { return nil }
        owner = file.st_uid
        nameOwner = name.st_uid
        permissions = file.st_mode & 0o7777
        isGroupShared =
            permissions & 0o020 != 0
            && (outbox_has_access_list(descriptor) != 0 || !Self.isPrivate(group: file.st_gid, of: file.st_uid))
    }

    /// Whether a group has nobody in it but one user, whose name it bears: where umask is 002, every user has one.
    private static func isPrivate(group: UInt32, of user: UInt32) -> Bool {
        guard let account = ServiceAccount(userID: user), account.groupID == group,
            let entry = getgrgid(group), String(cString: entry.pointee.gr_name) == account.name
        else { return false }
        var next = entry.pointee.gr_mem
        while let member = next?.pointee {
            if String(cString: member) != account.name { return false }
            next = next?.successor()
        }
        return true
    }
}

import LinuxSystem
import Text
internal import CLinux
internal import Glibc

/// The owner and permissions of a file, to decide whether a configuration that the user did not name is trusted.
///
/// A configuration decides which server gets the token. Anybody who can write to the working directory may have
/// placed a file in it.
struct FileTrust: Equatable {
    /// The owner of the file.
    var owner: UInt32
    /// The owner of the opened name: if the name is a symbolic link, the owner of the link.
    var nameOwner: UInt32
    /// Permission bits.
    var permissions: UInt32
    /// Whether the group may have members other than the owner.
    var isGroupShared: Bool

    /// Returns why the file is not trusted and what to do; `nil` if it is trusted.
    ///
    /// - Parameter name: the file's name in messages.
    func objection(user: UInt32, name: String) -> String? {
        if let stranger = [owner, nameOwner].first(where: { $0 != user && $0 != 0 }) {
            return
                "belongs to \(UserName.shown(stranger)), so it is not used: it could send your token elsewhere; run this "
                + "in another directory, or give --config \(name) if you trust it"
        }
        let group: UInt32 = isGroupShared ? 0o020 : 0
        guard permissions & (0o002 | group) == 0 else {
            return
                "can be written to by others (mode \(FileMode.shown(permissions))), so it is not used; run `chmod go-w "
                + "\(name)` after checking it, or give --config \(name) if you trust it"
        }
        return nil
    }
}

extension FileTrust {
    /// Reads the facts from the kernel and the user database.
    ///
    /// - Parameters:
    ///   - descriptor: the open file.
    ///   - path: the name used to open the file.
    /// - Returns: `nil` if the file can't be examined.
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

    /// Whether a group has the user's name and no other members. With umask 002, every user has such a group.
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

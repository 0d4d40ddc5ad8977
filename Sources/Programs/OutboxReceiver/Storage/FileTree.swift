import Glibc
import Synchronization
import SystemPackage

/// The user-visible part of the storage: `files/<user>/<path>`, hard links to objects.
final class FileTree: Sendable {
    /// After this many files with the same name, a random part replaces the number. The same holds for directories
    /// whose names belong to files; all directories of a path are counted together.
    ///
    /// Each link looks for its own name first among those with the same name, so this bounds the time of a link.
    private static let highestNumber = 100

    private let files: Folder
    private let objects: ObjectStore
    private let userFolders = Mutex<[String: Folder]>([:])
    /// The charge for the names and directories of each user, as far as counted.
    private let charges = Mutex<[String: Int64]>([:])

    init(_ root: Folder, objects: ObjectStore) throws(Errno) {
        files = try root.folder("files")
        self.objects = objects
    }

    /// A link to an object.
    struct Name: Sendable {
        fileprivate let folder: Folder
        fileprivate let name: String
        /// The path below `files/USER/`.
        let path: String
        /// False if the object already had this name.
        let isNew: Bool
    }

    /// The directory of the last link in a batch. Most files of a batch lie in one directory.
    struct OpenFolder {
        fileprivate var user = ""
        fileprivate var path: [String] = []
        fileprivate var folder: Folder?
        /// The names of the directories, each with a slash behind it. One may differ from ``path``: `trip (2)/`.
        fileprivate var prefix = ""
    }

    /// Links the object under `path`. Never overwrites: if the name belongs to another content, the new link gets `
    /// (2)`. An existing link to the same content stays.
    func link(_ object: ObjectName, user: String, path: SafePath) throws(Errno) -> Name {
        var openFolder = OpenFolder()
        return try link(object, user: user, path: path, &openFolder)
    }

    /// - Parameter openFolder: The directory of the previous link; replaced by that of this link.
    func link(
        _ object: ObjectName, user: String, path: SafePath, _ openFolder: inout OpenFolder
    ) throws(Errno) -> Name {
        do {
            try open(path, user: user, &openFolder)
            return try link(object, in: openFolder, as: path.name)
        } catch .noSuchFileOrDirectory {
            // Somebody removed a directory that the server held open.
            openFolder = OpenFolder()
            userFolders.withLock { $0[user] = nil }
            try open(path, user: user, &openFolder)
            return try link(object, in: openFolder, as: path.name)
        }
    }

    /// Removes a link if it still points to `object`.
    func unlink(_ name: Name, from object: ObjectName) throws(Errno) {
        if try isSame(name.name, in: name.folder, as: object) { try name.folder.remove(name.name) }
    }

    private func folder(of user: String) throws(Errno) -> Folder {
        if let folder = userFolders.withLock({ $0[user] }) { return folder }
        let folder = try files.folder(user)
        userFolders.withLock { $0[user] = folder }
        return folder
    }

    /// Opens the directory of `path`, unless it is open.
    private func open(_ path: SafePath, user: String, _ openFolder: inout OpenFolder) throws(Errno) {
        guard
            openFolder.folder == nil || openFolder.user != user
                // Bytes: == takes names with the same letters for equal.
                || !openFolder.path.elementsEqual(path.folders, by: { $0.utf8.elementsEqual($1.utf8) })
        else { return }
        var folder = try folder(of: user)
        var prefix = ""
        var attempts = Self.highestNumber
        for wanted in path.folders {
            let (subfolder, name) = try subfolder(wanted, of: folder, user, &attempts)
            folder = subfolder
            prefix += name + "/"
        }
        openFolder = OpenFolder(user: user, path: path.folders, folder: folder, prefix: prefix)
    }

    private func link(_ object: ObjectName, in open: OpenFolder, as wanted: String) throws(Errno) -> Name {
        guard let folder = open.folder else { throw .noSuchFileOrDirectory }
        for number in 1...Self.highestNumber {
            let name = SafePath.numbered(wanted, number)
            do {
                try objects.link(object, into: folder, as: name)
                charge(Charge.entry, to: open.user)
                return Name(folder: folder, name: name, path: open.prefix + name, isNew: true)
            } catch .fileExists {
                guard try isSame(name, in: folder, as: object) else { continue }
                return Name(folder: folder, name: name, path: open.prefix + name, isNew: false)
            }
        }
        let name = Self.randomized(wanted)
        try objects.link(object, into: folder, as: name)
        charge(Charge.entry, to: open.user)
        return Name(folder: folder, name: name, path: open.prefix + name, isNew: true)
    }

    /// Opens the directory `wanted`. If a file has this name, opens the first possible ` (2)` and so on.
    /// - Parameter attempts: How many more files may have the names; then the directory gets a random part.
    /// - Returns: The directory and its name.
    private func subfolder(
        _ wanted: String, of folder: Folder, _ user: String, _ attempts: inout Int
    ) throws(Errno) -> (Folder, String) {
        var number = 1
        var name = wanted
        while true {
            do {
                return (try folder.folder(name) { charge(Charge.directory, to: user) }, name)
            } catch .notDirectory, .tooManySymbolicLinkLevels {
                attempts -= 1
                number += 1
                name = attempts > 0 ? SafePath.numbered(wanted, number) : Self.randomized(wanted)
            }
        }
    }

    private static func randomized(_ name: String) -> String {
        var end = name.suffix(100)
        while end.utf8.count > 200 { end.removeFirst() }
        return "\(Hex128.random()).\(end)"
    }

    // MARK: Charges

    /// What the user's names and directories count for, since the start or the last ``recount(_:)``.
    func charge(of user: String) -> Int64 { charges.withLock { $0[user, default: 0] } }

    private func charge(_ bytes: Int64, to user: String) {
        charges.withLock { $0[user, default: 0] += bytes }
    }

    /// Counts the names and directories of these users, who may have removed some.
    func recount(_ isMeant: (String) -> Bool) throws(Errno) {
        for user in try files.names() where isMeant(user) {
            let former = charge(of: user)
            let counted = try Self.charge(of: try folder(of: user))
            // Uploads finished meanwhile may count twice, until the next time.
            charge(counted - former, to: user)
        }
    }

    private static func charge(of folder: Folder) throws(Errno) -> Int64 {
        var sum: Int64 = 0
        for name in try folder.names() {
            if try folder.status(of: name)?.isDirectory == true {
                sum += Charge.directory + (try charge(of: try folder.folder(name)))
            } else {
                sum += Charge.entry
            }
        }
        return sum
    }

    private func isSame(_ name: String, in folder: Folder, as object: ObjectName) throws(Errno) -> Bool {
        guard let linked = try folder.status(of: name), let original = try objects.status(of: object) else {
            return false
        }
        return linked.isSameFile(as: original)
    }
}

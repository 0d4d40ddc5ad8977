import Glibc
import Synchronization
import SystemPackage

/// The user-visible part of the storage: `files/<user>/<path>`, hard links to objects.
final class FileTree: Sendable {
    /// After this many files with the same name, a random part replaces the number.
    private static let highestNumber = 1000

    private let files: Folder
    private let objects: ObjectStore
    private let userFolders = Mutex<[String: Folder]>([:])

    init(_ root: Folder, objects: ObjectStore) throws(Errno) {
        files = try root.folder("files")
        self.objects = objects
    }

    /// A link to an object.
    struct Name: Sendable {
        fileprivate let folder: Folder
        fileprivate let name: String
    }

    /// The directory of the last link in a batch. Most files of a batch lie in one directory.
    struct OpenFolder {
        fileprivate var user = ""
        fileprivate var path: [String] = []
        fileprivate var folder: Folder?
    }

    /// Links the object under `path`. Never overwrites: if the name belongs to another content, the new link gets `
    /// (2)`. An existing link to the same content stays.
    /// - Returns: The new link, or nil if the object already had this name.
    @discardableResult
    func link(_ object: ObjectName, user: String, path: SafePath) throws(Errno) -> Name? {
        var openFolder = OpenFolder()
        return try link(object, user: user, path: path, &openFolder)
    }

    /// - Parameter openFolder: The directory of the previous link; replaced by that of this link.
    func link(
        _ object: ObjectName, user: String, path: SafePath, _ openFolder: inout OpenFolder
    ) throws(Errno) -> Name? {
        do {
            return try link(object, in: try folder(of: path, user: user, &openFolder), as: path.name)
        } catch .noSuchFileOrDirectory {
            // Somebody removed a directory that the server held open.
            openFolder = OpenFolder()
            userFolders.withLock { $0[user] = nil }
            return try link(object, in: try folder(of: path, user: user, &openFolder), as: path.name)
        }
    }

    /// Points a link to `other`, which has the same bytes, if the link still points to `object`.
    func relink(_ name: Name, from object: ObjectName, to other: ObjectName) throws(Errno) {
        guard try isSame(name.name, in: name.folder, as: object) else { return }
        let spare = ".\(Hex128.random())"
        try objects.link(other, into: name.folder, as: spare)
        do throws(Errno) {
            try name.folder.exchange(spare, name.name)
            // The name meanwhile belongs to a file of the user: swap back.
            if try !isSame(spare, in: name.folder, as: object) { try name.folder.exchange(spare, name.name) }
        } catch {
            try name.folder.remove(spare)
            throw error
        }
        try name.folder.remove(spare)
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

    private func folder(
        of path: SafePath, user: String, _ openFolder: inout OpenFolder
    ) throws(Errno) -> Folder {
        if let folder = openFolder.folder, openFolder.user == user, openFolder.path == path.folders { return folder }
        var folder = try folder(of: user)
        for name in path.folders { folder = try subfolder(name, of: folder) }
        openFolder = OpenFolder(user: user, path: path.folders, folder: folder)
        return folder
    }

    private func link(_ object: ObjectName, in folder: Folder, as wanted: String) throws(Errno) -> Name? {
        for number in 1...Self.highestNumber {
            let name = SafePath.numbered(wanted, number)
            do {
                try objects.link(object, into: folder, as: name)
                return Name(folder: folder, name: name)
            } catch .fileExists {
                if try isSame(name, in: folder, as: object) { return nil }
            }
        }
        let name = "\(Hex128.random()).\(wanted.suffix(100))"
        try objects.link(object, into: folder, as: name)
        return Name(folder: folder, name: name)
    }

    /// Opens the directory `name`. If a file has this name, opens the first possible ` (2)` and so on.
    private func subfolder(_ name: String, of folder: Folder) throws(Errno) -> Folder {
        for number in 1...Self.highestNumber {
            do {
                return try folder.folder(SafePath.numbered(name, number))
            } catch .notDirectory {
                continue
            } catch .tooManySymbolicLinkLevels {
                continue
            }
        }
        throw .fileExists
    }

    private func isSame(_ name: String, in folder: Folder, as object: ObjectName) throws(Errno) -> Bool {
        guard let linked = try folder.status(of: name), let original = try objects.status(of: object) else {
            return false
        }
        return linked.isSameFile(as: original)
    }
}

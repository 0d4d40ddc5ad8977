import Glibc
import Synchronization
import SystemPackage

/// The verified contents: `objects/<first two digits>/<md5>`.
///
/// MD5 can be forged, so two uploads share an object only when their bytes are the same, compared one by one; another
/// content with the same MD5 gets a name of its own.
///
/// A new content is compared with those of its own user before it is confirmed, and with those of others only afterwards
/// (`Store+Sharing.swift`): how long an answer takes must not tell what others have.
final class ObjectStore: Sendable {
    private static let pieceSize = 1 << 20

    private let objects: Folder
    /// Held from looking whether a name is free to taking it.
    private let placing = Mutex(())

    init(_ root: Folder) throws(Errno) {
        objects = try root.folder("objects")
        for number in 0..<256 {
            let digits = String(number, radix: 16)
            _ = try objects.folder(digits.count == 1 ? "0" + digits : digits)
        }
    }

    /// Moves the sealed file `name` of `uploads` here, to the first name that is free.
    func place(_ name: String, of uploads: Folder, md5: Hex128) throws(Errno) -> ObjectName {
        var object = ObjectName(md5: md5, variant: 0)
        while try !move(name, of: uploads, to: object) {
            object = ObjectName(md5: md5, variant: object.variant + 1)
        }
        return object
    }

    /// All objects with this MD5 that are there.
    func all(md5: Hex128) throws(Errno) -> [ObjectName] {
        var found: [ObjectName] = []
        while true {
            let object = ObjectName(md5: md5, variant: found.count)
            guard try status(of: object) != nil else { return found }
            found.append(object)
        }
    }

    /// The first of these objects that has the same bytes as the file `name` of `uploads`.
    func duplicate(of name: String, in uploads: Folder, among candidates: [ObjectName]) throws(Errno) -> ObjectName? {
        for object in candidates where try status(of: object) != nil {
            if try isSame(try uploads.open(name, O_RDONLY), as: object) { return object }
        }
        return nil
    }

    /// Moves the sealed file `name` of `uploads` here.
    /// - Returns: False where the object's name is taken.
    func move(_ name: String, of uploads: Folder, to object: ObjectName) throws(Errno) -> Bool {
        let outcome: Result<Bool, Errno> = placing.withLock { _ in
            do throws(Errno) {
                guard try objects.status(of: object.path) == nil else { return .success(false) }
                try uploads.rename(name, into: objects, as: object.path)
                return .success(true)
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    /// Whether two objects have the same bytes.
    func isSame(_ object: ObjectName, as other: ObjectName) throws(Errno) -> Bool {
        try isSame(try objects.open(object.path, O_RDONLY), as: other)
    }

    private func isSame(_ new: OpenFile, as object: ObjectName) throws(Errno) -> Bool {
        let old = try objects.open(object.path, O_RDONLY)
        guard try new.status().size == old.status().size else { return false }
        let newPiece = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
        let oldPiece = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
        defer {
            newPiece.deallocate()
            oldPiece.deallocate()
        }
        var offset: Int64 = 0
        while true {
            let count = try new.read(into: newPiece, at: offset)
            guard try old.read(into: oldPiece, at: offset) == count else { return false }
            if count == 0 { return true }
            guard let newBytes = newPiece.baseAddress, let oldBytes = oldPiece.baseAddress,
                memcmp(newBytes, oldBytes, count) == 0
            else { return false }
            offset += Int64(count)
        }
    }

    /// Whether the object is still there, with the size it had.
    func holds(_ content: Content) -> Bool {
        guard let status = try? objects.status(of: content.object.path) else { return false }
        return status.isRegular && status.size == content.key.size
    }

    /// The SHA-256 of the object's bytes, read from the disk; nil when it is gone.
    func sha256(of object: ObjectName) throws(Errno) -> Hex256? {
        guard let file = try open(object) else { return nil }
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
        defer { piece.deallocate() }
        var digest = RunningSHA256()
        var offset: Int64 = 0
        while true {
            let count = try file.read(into: piece, at: offset)
            if count == 0 { return Hex256(digest: digest.digest()) }
            digest.update(UnsafeRawBufferPointer(rebasing: piece[..<count]))
            offset += Int64(count)
        }
    }

    /// Removes the object's name; links to it stay.
    func remove(_ object: ObjectName) throws(Errno) {
        try objects.remove(object.path)
    }

    /// Nil when it is gone.
    func open(_ object: ObjectName) throws(Errno) -> OpenFile? {
        try objects.openExisting(object.path)
    }

    /// A second name for the object; never replaces anything.
    func link(_ object: ObjectName, into folder: Folder, as name: String) throws(Errno) {
        try objects.link(object.path, into: folder, as: name)
    }

    func status(of object: ObjectName) throws(Errno) -> FileStatus? {
        try objects.status(of: object.path)
    }
}

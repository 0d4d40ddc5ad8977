import Glibc
import Synchronization
import SystemPackage

/// The verified contents: `objects/<first two digits>/<md5>`.
///
/// MD5 can be forged, so two uploads of a user share an object only if their bytes are equal, compared byte by byte.
/// Another content with the same MD5 gets another name, and so does the same content of another user.
final class ObjectStore: Sendable {
    private static let pieceSize = 1 << 20

    private let objects: Folder
    /// Locked while a file is moved, from checking the new name to taking it.
    private let placing = Lock()
    /// The objects of uploads that are not confirmed yet.
    private let new = Mutex<Set<ObjectName>>([])

    init(_ root: Folder) throws(Errno) {
        objects = try root.folder("objects")
        for number in 0..<256 {
            let digits = String(number, radix: 16)
            _ = try objects.folder(digits.count == 1 ? "0" + digits : digits)
        }
    }

    /// Opens the objects of a receiver, which may be running, to read them. Returns nil if there are none.
    init?(reading root: Folder) throws(Errno) {
        guard let objects = try root.existingFolder("objects") else { return nil }
        self.objects = objects
    }

    /// Moves the sealed file `name` from `uploads` to the first free object name.
    func place(_ name: String, of uploads: Folder, md5: Hex128) throws(Errno) -> ObjectName {
        var object = ObjectName(md5: md5, variant: 0)
        while try !move(name, of: uploads, to: object) {
            object = ObjectName(md5: md5, variant: object.variant + 1)
        }
        return object
    }

    /// Returns all existing objects with this MD5.
    func all(md5: Hex128) throws(Errno) -> [ObjectName] {
        var found: [ObjectName] = []
        while true {
            let object = ObjectName(md5: md5, variant: found.count)
            guard try status(of: object) != nil else { return found }
            found.append(object)
        }
    }

    /// Returns the first of these objects with the same bytes as the file `name` in `uploads`.
    func duplicate(of name: String, in uploads: Folder, among candidates: [ObjectName]) throws(Errno) -> ObjectName? {
        for object in candidates where try status(of: object) != nil {
            if try isSame(try uploads.open(name, O_RDONLY), as: object) { return object }
        }
        return nil
    }

    /// Moves the sealed file `name` from `uploads` to this object name.
    /// - Returns: False if the name is taken.
    func move(_ name: String, of uploads: Folder, to object: ObjectName) throws(Errno) -> Bool {
        try placing.locked { () throws(Errno) in
            guard try objects.status(of: object.path) == nil else { return false }
            new.withLock { _ = $0.insert(object) }
            try uploads.rename(name, into: objects, as: object.path)
            return true
        }
    }

    /// Whether the object belongs to an upload of this process that is not confirmed yet.
    func isNew(_ object: ObjectName) -> Bool { new.withLock { $0.contains(object) } }

    /// Notes that the catalog knows the object, or that it was removed.
    func settle(_ object: ObjectName) { new.withLock { _ = $0.remove(object) } }

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

    /// Whether the object still exists with the expected size.
    func holds(_ content: Content) -> Bool {
        guard let status = try? objects.status(of: content.object.path) else { return false }
        return status.isRegular && status.size == content.key.size
    }

    /// Computes the SHA-256 of the object's bytes, and lets other work on the same thread have its turn meanwhile. Returns nil
    /// if the object is gone.
    func sha256(of object: ObjectName) async throws -> Hex256? {
        guard let file = try open(object) else { return nil }
        var digest = RunningSHA256()
        var offset: Int64 = 0
        while let next = try read(file, from: offset, { digest.update($0) }) {
            offset = next
            await Task.yield()
        }
        return Hex256(digest: digest.digest())
    }

    /// Whether the object's bytes have the digests of the content. Returns nil if the object is gone.
    func isWhole(_ content: Content) throws(Errno) -> Bool? {
        var md5 = RunningMD5()
        var sha256 = content.sha256.map { _ in RunningSHA256() }
        guard let file = try open(content.object) else { return nil }
        var offset: Int64 = 0
        while let next = try read(
            file, from: offset,
            {
                md5.update($0)
                sha256?.update($0)
            })
        { offset = next }
        return md5.digest() == content.key.md5 && sha256.map { Hex256(digest: $0.digest()) } == content.sha256
    }

    /// Passes 16 MiB of a file to `body`, in pieces.
    /// - Returns: Where the rest begins; nil at the end of the file.
    private func read(
        _ file: OpenFile, from start: Int64, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) -> Int64? {
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
        defer { piece.deallocate() }
        var offset = start
        for _ in 0..<16 {
            let count = try file.read(into: piece, at: offset)
            if count == 0 { return nil }
            body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
            offset += Int64(count)
        }
        return offset
    }

    /// Removes the object's name. Hard links to the object stay.
    func remove(_ object: ObjectName) throws(Errno) {
        try objects.remove(object.path)
        settle(object)
    }

    /// Opens an object for reading. Returns nil if the object is gone.
    func open(_ object: ObjectName) throws(Errno) -> OpenFile? {
        try objects.openExisting(object.path)
    }

    /// Creates a hard link to the object. Never overwrites.
    func link(_ object: ObjectName, into folder: Folder, as name: String) throws(Errno) {
        try objects.link(object.path, into: folder, as: name)
    }

    func status(of object: ObjectName) throws(Errno) -> FileStatus? {
        try objects.status(of: object.path)
    }
}

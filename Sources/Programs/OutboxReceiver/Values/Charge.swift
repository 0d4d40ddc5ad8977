/// What counts for a user's quota, in bytes.
///
/// The bytes of a tiny file are the least part of what it takes: a block on the disk, an inode, names and directories, lines
/// of the journal. Each of these is charged about what it costs, or a user with a small quota could fill the disk.
enum Charge {
    /// The block of common file systems.
    static let block: Int64 = 4096
    /// ext4 has an inode for each 16 KiB, and one file may need many directories.
    static let directory: Int64 = 16 << 10
    /// A name below `files/`, an unfinished id, a post, a portrait: an inode and lines of the journal, and short texts.
    static let entry: Int64 = 1024

    /// The whole blocks of a file.
    static func file(_ size: Int64) -> Int64 {
        // A size near the largest number must not overflow.
        size > .max - block ? .max - block : (size + block - 1) / block * block
    }

    /// Texts stand in memory, in the journal, and for a while in the journal that replaces it.
    static func names(_ texts: String?...) -> Int64 { texts.reduce(0) { $0 + 3 * Int64($1?.utf8.count ?? 0) } }
}

extension UploadPlan {
    /// What the unfinished upload counts for: also the directories that its name may need.
    var charge: Int64 {
        // Without a usable path, the name may have directories.
        let directories = SafePath(path: path, fileName: fileName).folders.count
        return Charge.file(size) + 2 * Charge.entry + Charge.names(fileName, path, type)
            + Int64(directories) * Charge.directory
    }
}

extension Content {
    /// The charge for its name below `files/` includes short texts.
    var charge: Int64 { Charge.file(key.size) + max(0, Charge.names(name, type, paths.text) - Charge.entry) }
}

extension Commit {
    var charge: Int64 { Charge.entry + Charge.names(source.id, title) + Int64(contents.count) * 40 }
}

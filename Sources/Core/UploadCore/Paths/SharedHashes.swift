/// Hard links that wait for the hash of one file. The file is read under its first name; the other names share the
/// result.
///
/// Names share a hash only if their identities are equal, including ctime. A change between two looks alters at least
/// ctime, so it leads to a separate hash.
struct SharedHashes: Sendable {
    private var waiting: [FileIdentity: [(path: RelativePath, job: UInt64)]] = [:]

    /// Adds a name to be hashed.
    ///
    /// - Returns: whether to read the file; false if another name of the file is being read.
    mutating func join(_ file: FileIdentity, _ path: RelativePath, job: UInt64) -> Bool {
        guard waiting[file] != nil else {
            waiting[file] = []
            return true
        }
        waiting[file]?.append((path, job))
        return false
    }

    /// Records that the file is being read again, on behalf of these names.
    mutating func begin(_ file: FileIdentity, _ others: [(path: RelativePath, job: UInt64)]) {
        waiting[file] = others
    }

    /// Removes and returns the names that waited for a file.
    mutating func end(_ file: FileIdentity) -> [(path: RelativePath, job: UInt64)] {
        waiting.removeValue(forKey: file) ?? []
    }
}

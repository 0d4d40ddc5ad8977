/// Several names of one file that are to be hashed: the first is read, the others wait for its result.
///
/// Only names whose file is the same in every respect share a hash, ctime included. So a change between two looks, which
/// changes ctime at least, leads to a hash of its own.
struct SharedHashes: Sendable {
    private var waiting: [FileIdentity: [(path: RelativePath, job: UInt64)]] = [:]

    /// Notes that a name is to be hashed.
    ///
    /// - Returns: whether it is to be read; otherwise another name of the file is being read.
    mutating func join(_ file: FileIdentity, _ path: RelativePath, job: UInt64) -> Bool {
        guard waiting[file] != nil else {
            waiting[file] = []
            return true
        }
        waiting[file]?.append((path, job))
        return false
    }

    /// Notes that a file is being read again, for these names.
    mutating func begin(_ file: FileIdentity, _ others: [(path: RelativePath, job: UInt64)]) {
        waiting[file] = others
    }

    /// Takes out the names that wait for a file that was read.
    mutating func end(_ file: FileIdentity) -> [(path: RelativePath, job: UInt64)] {
        waiting.removeValue(forKey: file) ?? []
    }
}

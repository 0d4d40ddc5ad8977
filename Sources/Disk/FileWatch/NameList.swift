import LinuxSystem
import SystemPackage

/// Names of a directory, taken one after the other. One array holds a million names compactly.
struct NameList: Sequence, IteratorProtocol {
    private static let unknown: UInt8 = 2

    /// For each name: whether it is a directory (0, 1 or `unknown`), its bytes, and a NUL.
    private var bytes: [UInt8] = []
    private var position = 0

    /// Creates a list without names.
    init() {}

    /// Lists a directory.
    ///
    /// - Throws: `Errno` of openat(2) or getdents64(2).
    init(of directory: Directory) throws(Errno) {
        var bytes: [UInt8] = []
        try directory.forEachEntry { name, isDirectory in
            bytes.append(isDirectory.map { $0 ? 1 : 0 } ?? Self.unknown)
            bytes.append(contentsOf: name)
            bytes.append(0)
        }
        self.bytes = bytes
    }

    /// Bytes of memory that the list takes, roughly.
    var size: Int { bytes.count + 64 }

    /// Appends the name of a file, unless it is the last one already: several events in a row may name one file.
    ///
    /// - Returns: by how much `size` grew.
    mutating func append(_ name: [UInt8]) -> Int {
        let entry = [0] + name + [0]
        if bytes.suffix(entry.count) == entry[...] { return 0 }
        bytes += entry
        return entry.count
    }

    /// Whether no name is left.
    var isAtEnd: Bool { position == bytes.count }

    /// All names again.
    var rewound: NameList {
        var list = self
        list.position = 0
        return list
    }

    /// Returns the next name, and whether it is a directory, if the file system reports that.
    mutating func next() -> (name: [UInt8], isDirectory: Bool?)? {
        guard position < bytes.count, let end = bytes[(position + 1)...].firstIndex(of: 0) else { return nil }
        let kind = bytes[position]
        defer { position = end + 1 }
        return (Array(bytes[(position + 1)..<end]), kind == Self.unknown ? nil : kind == 1)
    }
}

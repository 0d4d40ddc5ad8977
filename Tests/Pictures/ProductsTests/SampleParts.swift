import Foundation
import LinuxSystem
import TestSupport

@testable import Products

/// Files with given bytes, in a directory of their own.
struct SampleParts {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Returns a new file with these bytes.
    func part(_ bytes: [UInt8]) throws -> FilePart {
        let path = directory.path("part-\(UUID().uuidString)")
        try Data(bytes).write(to: URL(filePath: path))
        return FilePart(file: try SharedDescriptor(opening: path, flags: O_RDWR), range: 0..<UInt64(bytes.count))
    }
}

import Glibc
import LinuxSystem
import SystemPackage

/// A unit file on disk. Only files written by `outbox` are replaced or removed.
struct UnitFile {
    /// The object at the path.
    enum Found: Equatable {
        case nothing
        case ours(text: String)
        case foreign
    }

    private static let largest = 1 << 20

    /// Absolute path of the directory of units.
    let directory: String
    /// `NAME.service`.
    let name: String

    var path: String { directory + "/" + name }

    /// Reads the file and detects its author.
    func look() throws(ServiceError) -> Found {
        let bytes: [UInt8]
        do {
            let file = try SharedDescriptor(opening: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            let size = min(Int(clamping: try FileStatus(of: file.rawValue).size), Self.largest)
            var buffer = [UInt8](repeating: 0, count: size)
            let count = try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            bytes = Array(buffer[..<count])
        } catch Errno.noSuchFileOrDirectory {
            return .nothing
        } catch Errno.tooManySymbolicLinkLevels {
            return .foreign
        } catch {
            throw .cannotWrite(path: path, reason: "it cannot be read: \(error)")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasPrefix(ServiceUnit.marker + "\n") ? .ours(text: text) : .foreign
    }

    /// Writes the file atomically.
    ///
    /// - Returns: Whether the file changed.
    func write(_ text: String) throws(ServiceError) -> Bool {
        switch try look() {
        case .foreign: throw .foreign(path: path)
        case .ours(let old) where old == text: return false
        case .ours, .nothing: break
        }
        do {
            try Directory.create(directory)
            try Directory(path: directory).replace(name, with: Array(text.utf8), mode: 0o644)
        } catch {
            throw .cannotWrite(path: path, reason: "\(error)")
        }
        return true
    }

    /// Removes the file and the link that enabled it.
    func remove(target: String) throws(ServiceError) {
        switch try look() {
        case .nothing: throw .notInstalled(path: path)
        case .foreign: throw .foreign(path: path)
        case .ours: break
        }
        unlink("\(directory)/\(target).wants/\(name)")
        do {
            try retryingOnInterrupt { unlink(path) }
        } catch {
            throw .cannotWrite(path: path, reason: "\(error)")
        }
    }
}

import Glibc
import LinuxSystem
package import Logging
import SystemPackage
import UploadCore

/// The substitute for a missing picture.
package struct PlaceholderPicture: Equatable, Sendable {
    /// The content of the file.
    package let bytes: [UInt8]
    /// The media type.
    let type: String

    /// Maximum size of the file. The picture stays in memory while the agent runs.
    static let longest: UInt64 = 1 << 20
    /// Media types that browsers show.
    private static let types: Set<String> = ["image/jpeg", "image/png", "image/gif", "image/webp", "image/avif"]

    /// Reads `avatar_cache.placeholder`.
    ///
    /// - Throws: `Unusable`.
    package init(path: String) throws(Unusable) {
        let bytes = try Self.read(path)
        guard let type = MediaSignatures.sniff(bytes)?.mime, Self.types.contains(type) else {
            throw Unusable(reason: "it is not a JPEG, PNG, GIF, WebP or AVIF picture")
        }
        self.bytes = bytes
        self.type = type
    }

    private init(bytes: [UInt8], type: String) {
        self.bytes = bytes
        self.type = type
    }

    /// A grey figure on a light background.
    package static let builtIn = PlaceholderPicture(bytes: builtInBytes, type: "image/png")

    /// Loads the configured picture. Without one, returns the built-in picture. Logs a warning and does the same if
    /// the file is unusable.
    package static func load(path: String?, logger: Logger) -> PlaceholderPicture {
        guard let path else { return builtIn }
        do throws(Unusable) {
            return try PlaceholderPicture(path: path)
        } catch {
            logger.warning(
                "avatar_cache.placeholder can't be used; the built-in picture is served",
                metadata: ["path": "\(path)", "reason": "\(error.reason)"])
            return builtIn
        }
    }

    /// Why a file can't be used as a placeholder.
    package struct Unusable: Error, Equatable {
        package let reason: String
    }

    private static func read(_ path: String) throws(Unusable) -> [UInt8] {
        do throws(Errno) {
            let file = try SharedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK)
            let status = try FileStatus(of: file.rawValue)
            guard status.kind == .regular else { return [] }
            guard status.size <= longest else { throw .fileTooLarge }
            var bytes = [UInt8](repeating: 0, count: Int(status.size))
            let count = try bytes.withUnsafeMutableBufferPointer { buffer throws(Errno) in
                try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
            }
            return Array(bytes.prefix(count))
        } catch {
            throw Unusable(reason: error == .fileTooLarge ? "it has more than \(longest) bytes" : "\(error)")
        }
    }
}

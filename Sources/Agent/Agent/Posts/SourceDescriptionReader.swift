import AgentConfiguration
import Text
import Intake
import LinuxSystem
import SystemPackage
import UploadCore

/// Reads `source.toml`: TOML 1.0 like `agent.toml`. A byte order mark and CR LF line ends are accepted, since editors
/// on some systems write them.
struct SourceDescriptionReader: Sendable {
    /// Maximum size of `source.toml` in bytes.
    static let largestFile = 64 << 10
    /// Maximum length of a title in bytes.
    static let longestTitle = 1000

    private let files: OutboxFiles

    /// Creates a reader for the sources in an outbox.
    init(files: OutboxFiles) {
        self.files = files
    }

    /// Reads the description of a source. Blocks on the disk.
    ///
    /// - Returns: the description, or an error: `malformed_source`, `unreadable`, or `file_missing` while the file
    ///   can't be found.
    func read(_ directory: RelativePath) -> Result<SourceDescription, FileError> {
        do throws(Errno) {
            // One byte more than allowed shows that the file is too large.
            return Self.parse(
                try files.read(PostPlaces.description(of: directory), atMost: Self.largestFile + 1))
        } catch {
            return .failure(Self.objection(to: error))
        }
    }

    /// Parses a description.
    ///
    /// - Returns: the description, or `malformed_source` with the line of the first mistake.
    static func parse(_ bytes: [UInt8]) -> Result<SourceDescription, FileError> {
        guard bytes.count <= largestFile else {
            let limit = Units.spell(UInt64(largestFile))
            return .failure(malformed(nil, "is larger than \(limit); keep to title, cover and draft"))
        }
        do throws(ConfigurationError) {
            let document = try ConfigurationDocument(bytes, name: PostPlaces.descriptionName)
            var reading = SourceDescriptionReading(document)
            return reading.result()
        } catch {
            return .failure(malformed(error.origin.line, error.reason + "; correct it and save the file again"))
        }
    }

    /// Makes the error for a malformed description. Its message has one line.
    static func malformed(_ line: Int?, _ reason: String) -> FileError {
        let place = line.map { "\(PostPlaces.descriptionName), line \($0)" } ?? PostPlaces.descriptionName
        return FileError(code: "malformed_source", message: "\(place): \(reason)", retryable: false)
    }

    private static func objection(to error: Errno) -> FileError {
        let name = PostPlaces.descriptionName
        let meaning = LocalError(error)
        switch meaning {
        case .replaced:
            return malformed(nil, "is not a regular file; put a text file in its place")
        case .missing, .stale:
            return FileError(code: "file_missing", message: "\(name) can't be found now", retryable: true)
        case .busy, .shortage, .away, .refused, .unusable:
            return .unreadable(name, "\(error)", meaning.remedy, isPassing: meaning.isPassing)
        }
    }
}

import LinuxSystem
import SystemPackage
import UploadCore

/// Reads `source.toml`: TOML 1.0 as `agent.toml` is, taken as editors on any system save it, with a byte order mark or
/// lines that end in CR LF.
struct SourceDescriptionReader: Sendable {
    /// A larger file describes no source; bytes.
    static let largestFile = 64 << 10
    /// Longest title, bytes.
    static let longestTitle = 1000

    private let files: OutboxFiles

    /// A reader of the sources below an outbox.
    init(files: OutboxFiles) {
        self.files = files
    }

    /// Reads the description of a directory's source. It blocks on the disk.
    ///
    /// - Returns: what it says, or why it says nothing: `malformed_source`, `unreadable`, or, as long as it can't be found,
    ///   `file_missing`.
    func read(_ directory: RelativePath) -> Result<SourceDescription, FileError> {
        do throws(Errno) {
            let (file, _) = try files.open(SourcePlaces.description(of: directory))
            // One byte over what is allowed is enough to see that it is too large.
            var text = [UInt8](repeating: 0, count: Self.largestFile + 1)
            let count = try text.withUnsafeMutableBytes { buffer in
                Result { () throws(Errno) in try file.read(into: buffer, at: 0) }
            }.get()
            return Self.parse(Array(text.prefix(count)))
        } catch {
            return .failure(Self.objection(to: error))
        }
    }

    /// Reads a text.
    ///
    /// - Returns: what it says, or `malformed_source` with the line of the first mistake.
    static func parse(_ bytes: [UInt8]) -> Result<SourceDescription, FileError> {
        guard bytes.count <= largestFile else {
            let limit = Units.spell(UInt64(largestFile))
            return .failure(malformed(nil, "is larger than \(limit); keep to title, cover and draft"))
        }
        do throws(ConfigurationError) {
            let document = try ConfigurationDocument(bytes, name: SourceReport.descriptionName)
            var reading = SourceDescriptionReading(document)
            return reading.result()
        } catch {
            return .failure(malformed(error.origin.line, error.reason + "; correct it and save the file again"))
        }
    }

    /// What is wrong with a description, in one line.
    static func malformed(_ line: Int?, _ reason: String) -> FileError {
        let place = line.map { "\(SourceReport.descriptionName), line \($0)" } ?? SourceReport.descriptionName
        return FileError(code: "malformed_source", message: "\(place): \(reason)", retryable: false)
    }

    private static func objection(to error: Errno) -> FileError {
        let name = SourceReport.descriptionName
        switch error {
        case .invalidArgument:
            return malformed(nil, "is not a regular file; put a text file in its place")
        case .noSuchFileOrDirectory, .notDirectory, .staleNFSFileHandle:
            return FileError(code: "file_missing", message: "\(name) can't be found just now", retryable: true)
        default:
            let message = "\(name) can't be read: \(error); mend permissions or disk, then save the file again"
            return FileError(code: "unreadable", message: message, retryable: false)
        }
    }
}

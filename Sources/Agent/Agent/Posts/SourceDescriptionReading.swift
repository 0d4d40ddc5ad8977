import AgentConfiguration
import Text
import UploadCore

/// Parses one description key by key.
struct SourceDescriptionReading {
    private let document: ConfigurationDocument
    private var description = SourceDescription()
    private var mistakes: [(line: Int?, reason: String)] = []

    private static let keys = ["title", "cover", "draft"]

    init(_ document: ConfigurationDocument) {
        self.document = document
    }

    /// Returns the description, or the first mistake in the file.
    mutating func result() -> Result<SourceDescription, FileError> {
        for (key, value) in document.values {
            do throws(Objection) {
                try read(key, value)
            } catch {
                mistakes.append((document.lines[[key]], error.reason))
            }
        }
        guard let first = mistakes.min(by: { $0.line ?? .max < $1.line ?? .max }) else { return .success(description) }
        return .failure(SourceDescriptionReader.malformed(first.line, first.reason))
    }

    private mutating func read(_ key: String, _ value: SettingValue) throws(Objection) {
        switch key {
        case "title": description.title = try Self.title(value)
        case "cover": description.cover = try Self.cover(value)
        case "draft": description.isDraft = try Self.draft(value)
        default:
            let hint =
                Spelling.nearest(to: key, among: Self.keys).map { "did you mean `\($0)`?" }
                ?? "use only `title`, `cover` and `draft`"
            throw Objection("`\(key.asKeyPart)` is not a key; \(hint)")
        }
    }

    private static func title(_ value: SettingValue) throws(Objection) -> String {
        guard case .string(let text) = value else {
            throw Objection("`title` must be a string, is \(value.typeName); write title = \"A day at the sea\"")
        }
        let title = text.withoutOuterWhitespace
        guard title.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw Objection("`title` holds a control character or a line break; keep it to one line of text")
        }
        let longest = SourceDescriptionReader.longestTitle
        guard title.utf8.count <= longest else {
            throw Objection("`title` is \(title.utf8.count) bytes long; shorten it to \(longest)")
        }
        return title
    }

    private static func cover(_ value: SettingValue) throws(Objection) -> RelativePath {
        guard case .string(let text) = value else {
            throw Objection("`cover` must be a string, is \(value.typeName); write cover = \"beach.jpg\"")
        }
        guard !text.isEmpty else {
            throw Objection("`cover` is empty; name a file, or remove the line to have the first picture")
        }
        guard let path = RelativePath(text) else {
            throw Objection(
                "`cover` must be the path of a file below the directory, without `.` and `..`, is "
                    + "\(text.shortened.quoted); write \"beach.jpg\" or \"day 2/beach.jpg\"")
        }
        return path
    }

    private static func draft(_ value: SettingValue) throws(Objection) -> Bool {
        guard case .boolean(let isDraft) = value else {
            throw Objection("`draft` must be true or false, without quotes, is \(value.typeName)")
        }
        return isDraft
    }
}

extension String {
    fileprivate var withoutOuterWhitespace: String {
        let scalars = unicodeScalars
        let isInner: (Unicode.Scalar) -> Bool = { !$0.properties.isWhitespace }
        guard let first = scalars.firstIndex(where: isInner), let last = scalars.lastIndex(where: isInner) else {
            return ""
        }
        return String(scalars[first...last])
    }
}

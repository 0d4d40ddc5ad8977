/// The template of the names under which remotes store files: object keys of S3 (`remote.key`), names of tus uploads
/// (`remote.name`).
///
/// Example: `{prefix}{date:%Y/%m}/{name}` with the prefix `photos/` makes `photos/2026/11/beach.jpg`.
///
/// | placeholder | stands for |
/// |---|---|
/// | `{prefix}` | `remote.prefix` |
/// | `{key}` | the content's MD5 in hexadecimal |
/// | `{ext}` | the extension of the content's type with its dot; that of the file if the type is unknown |
/// | `{path}` | the file's path below the outbox, with its name and extension |
/// | `{name}` | the file's name with its extension |
/// | `{date:FORMAT}` | the file's modification time, UTC: `%Y`, `%m`, `%d`, `%H`, `%M`, `%S`, `%%` |
/// | `{account}` | the account's name, from `outbox login --user`; otherwise `default` |
public struct NameTemplate: Hashable, Sendable {
    /// The text of the default template of object keys.
    public static let standard = "{prefix}{key}{ext}"
    /// The default template of object keys.
    public static let standardTemplate = NameTemplate(parts: [.prefix, .key, .fileExtension])

    /// The default template of the names of tus uploads: the file's name.
    public static let fileName = NameTemplate(parts: [.name])

    /// Why a text is no template.
    public struct Objection: Error, Equatable, Sendable, CustomStringConvertible {
        /// A clause about the template, as "has no } for its {".
        public let description: String
    }

    private enum Part: Hashable, Sendable {
        case text(String)
        case prefix, key, fileExtension, path, name, account
        case date([DatePart])
    }

    private enum DatePart: Hashable, Sendable {
        case text(String)
        case year, month, day, hour, minute, second
    }

    private let parts: [Part]

    private init(parts: [Part]) { self.parts = parts }

    /// Parses a template.
    ///
    /// - Throws: why the text is no template.
    public init(_ text: String) throws(Objection) {
        var parts: [Part] = []
        var rest = text[...]
        while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            if open > rest.startIndex { parts.append(.text(String(rest[..<open]))) }
            guard rest[open] == "{" else { throw Objection(description: "has a } without a {") }
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw Objection(description: "has a { without a }")
            }
            parts.append(try Self.part(rest[rest.index(after: open)..<close]))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        let namesFile = parts.contains { part in part == .key || part == .path || part == .name }
        guard namesFile else {
            throw Objection(description: "must contain {key}, {path} or {name}; otherwise all files have the same name")
        }
        self.parts = parts
    }

    /// Whether contents that differ never have the same name.
    public var namesContent: Bool { parts.contains(.key) }

    private static func part(_ name: Substring) throws(Objection) -> Part {
        switch name {
        case "prefix": return .prefix
        case "key": return .key
        case "ext": return .fileExtension
        case "path": return .path
        case "name": return .name
        case "account": return .account
        case "date": throw Objection(description: "needs a format in {date}, as in {date:%Y/%m}")
        default: break
        }
        guard name.hasPrefix("date:") else {
            throw Objection(
                description: "has an unknown placeholder {\(name)}; it knows {prefix}, {key}, {ext}, {path}, {name}, "
                    + "{date:%Y/%m} and {account}")
        }
        return .date(try dateParts(name.dropFirst("date:".count)))
    }

    private static func dateParts(_ format: Substring) throws(Objection) -> [DatePart] {
        guard !format.isEmpty else { throw Objection(description: "needs a format in {date:}, as in {date:%Y/%m}") }
        var parts: [DatePart] = []
        var rest = format
        while let character = rest.popFirst() {
            guard character == "%" else {
                parts.append(.text(String(character)))
                continue
            }
            switch rest.popFirst() {
            case "Y": parts.append(.year)
            case "m": parts.append(.month)
            case "d": parts.append(.day)
            case "H": parts.append(.hour)
            case "M": parts.append(.minute)
            case "S": parts.append(.second)
            case "%": parts.append(.text("%"))
            case let other:
                throw Objection(
                    description:
                        "has an unknown %\(other.map { "\($0)" } ?? "") in {date:\(format)}; it knows %Y, %m, %d, "
                        + "%H, %M, %S and %%")
            }
        }
        return parts
    }

    // MARK: Names

    /// What a name is made of.
    public struct Values: Equatable, Sendable {
        /// For `{prefix}`.
        public var prefix: String
        /// For `{account}`.
        public var account: String
        /// For `{key}`.
        public var key: ContentKey
        /// For `{ext}`.
        public var type: MediaType
        /// For `{path}` and `{name}`.
        public var path: RelativePath
        /// For `{date:…}`: milliseconds since 1970; nil counts as 1970.
        public var modified: Int64?

        /// Creates the values.
        public init(
            prefix: String, account: String, key: ContentKey, type: MediaType, path: RelativePath, modified: Int64?
        ) {
            self.prefix = prefix
            self.account = account
            self.key = key
            self.type = type
            self.path = path
            self.modified = modified
        }
    }

    /// Returns the name of a file at the remote.
    ///
    /// - Parameter copy: 1 for the template's own name. From 2 on, the number stands before the extension, as in
    ///   `beach (2).jpg`.
    public func name(for values: Values, copy: Int = 1) -> String {
        let name = parts.map { Self.text(of: $0, values) }.joined()
        guard copy > 1 else { return name }
        let nameStart = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { name.utf8.index(after: $0) } ?? name.startIndex
        guard let dot = name.utf8[nameStart...].lastIndex(of: UInt8(ascii: ".")), dot > nameStart else {
            return "\(name) (\(copy))"
        }
        return "\(name[..<dot]) (\(copy))\(name[dot...])"
    }

    private static func text(of part: Part, _ values: Values) -> String {
        switch part {
        case .text(let text): text
        case .prefix: values.prefix
        case .key: values.key.description
        case .fileExtension: fileExtension(values)
        case .path: values.path.description
        case .name: (RelativePath(Array(values.path.name)) ?? .root).description
        case .account: values.account
        case .date(let parts): date(parts, CivilTime(WallTime(milliseconds: values.modified ?? 0)))
        }
    }

    /// Returns the extension of a content with its dot, as in `{ext}`; empty if there is none.
    public static func fileExtension(_ values: Values) -> String {
        if values.type.kind != .other { return "." + MediaSignatures.fileExtension(for: values.type) }
        let name = values.path.name
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return "" }
        let ending = name[(dot + 1)...]
        let isPlain = ending.allSatisfy { byte in
            let character = Character(Unicode.Scalar(byte))
            return character.isASCII && (character.isLetter || character.isNumber)
        }
        guard (1...longestExtension).contains(ending.count), isPlain else { return "" }
        return "." + String(decoding: ending, as: UTF8.self).lowercased()
    }

    /// A longer ending of a name is no extension.
    private static let longestExtension = 10

    private static func date(_ parts: [DatePart], _ time: CivilTime) -> String {
        let date = time.date.split(separator: "-", omittingEmptySubsequences: false)
        let clock = time.clock.split(separator: ":")
        return parts.map { part in
            switch part {
            case .text(let text): text
            case .year: String(date.dropLast(2).joined(separator: "-"))
            case .month: String(date[date.count - 2])
            case .day: String(date[date.count - 1])
            case .hour: String(clock[0])
            case .minute: String(clock[1])
            case .second: String(clock[2])
            }
        }.joined()
    }
}

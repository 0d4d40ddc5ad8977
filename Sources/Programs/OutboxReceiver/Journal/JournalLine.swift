/// A journal entry as a line of text: a checksum, the kind, then the fields, separated by tabs.
///
/// ```
/// 5f0c9a31  B  0b7f…e2  17
/// ```
/// The checksum (FNV-1a, 32 bits, over all following bytes) detects lines torn by a power cut.
enum JournalLine {
    static func append(_ entry: JournalEntry, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: "00000000".utf8)
        for field in fields(of: entry) {
            bytes.append(UInt8(ascii: "\t"))
            appendEscaped(field, to: &bytes)
        }
        var checksum = checksum(bytes[(start + 8)...])
        for index in stride(from: start + 7, through: start, by: -1) {
            let nibble = UInt8(checksum & 0xf)
            bytes[index] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
            checksum >>= 4
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    /// The kinds of lines that can be read alone.
    enum Kind: UInt8 {
        case content = 0x43
        case finished = 0x46
    }

    /// Whether the line, which may be torn, begins like a line of one of these kinds.
    static func isKind(_ line: Slice<UnsafeRawBufferPointer>, of kinds: [Kind]) -> Bool {
        let start = line.startIndex
        guard line.count > 10, line[start + 10] == UInt8(ascii: "\t") else { return false }
        return kinds.contains { $0.rawValue == line[start + 9] }
    }

    /// Parses a line without its newline. Returns nil if the line is torn or malformed.
    static func entry(from line: Slice<UnsafeRawBufferPointer>) -> JournalEntry? {
        guard line.count > 9, UInt32(text(line.prefix(8)), radix: 16) == checksum(line.dropFirst(8)) else { return nil }
        let fields = line.dropFirst(9).split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        return entry(from: Fields(fields))
    }

    // MARK: Fields

    private static func fields(of entry: JournalEntry) -> [String] {
        switch entry {
        case .opened(let id, let plan, let time):
            [
                "U", "\(id)", plan.user, "\(plan.size)", "\(plan.md5)", "\(time)",
                plan.modified.map { "\($0)" } ?? "", plan.type, plan.fileName, plan.path ?? "",
                plan.sha256.map { "\($0)" } ?? "",
            ]
        case .block(let id, let index): ["B", "\(id)", "\(index)"]
        case .reset(let id): ["R", "\(id)"]
        case .content(let content):
            [
                "C", "\(content.token)", content.key.user, "\(content.key.size)", "\(content.key.md5)",
                "\(content.object.variant)", content.type, content.name, content.sha256.map { "\($0)" } ?? "",
                content.at.map { "\($0)" } ?? "", content.paths.text,
            ]
        case .finished(let id, let user, let content, let time): ["F", "\(id)", user, "\(content)", "\(time)"]
        case .forgotten(let id): ["X", "\(id)"]
        case .portrait(let token, let user, let time, let size): ["P", "\(token)", user, "\(time)", "\(size)"]
        case .removed(let token): ["D", "\(token)"]
        case .committed(let commit):
            [
                "S", "\(commit.token)", commit.source.user, commit.source.id, "\(commit.revision)", commit.title,
                commit.createDate, commit.cover.map { "\($0)" } ?? "",
                commit.contents.map(\.description).joined(separator: ","),
                commit.requests.map(\.description).joined(separator: ","),
            ]
        }
    }

    private static func entry(from fields: Fields) -> JournalEntry? {
        var fields = fields
        let kind = fields.text()
        guard let id = fields.hex() else { return nil }
        switch kind {
        case "U": return opened(id, &fields)
        case "B": return fields.number().map { .block(id, Int($0)) }
        case "R": return .reset(id)
        case "C": return content(id, &fields)
        case "F":
            guard let user = fields.text(), let content = fields.hex(), let time = fields.number() else { return nil }
            return .finished(id, user: user, content: content, at: time)
        case "X": return .forgotten(id)
        case "P":
            guard let user = fields.text(), let time = fields.number() else { return nil }
            return .portrait(id, user: user, at: time, size: fields.number() ?? 0)
        case "D": return .removed(id)
        case "S": return committed(id, &fields)
        default: return nil
        }
    }

    private static func opened(_ id: Hex128, _ fields: inout Fields) -> JournalEntry? {
        guard let user = fields.text(), let size = fields.number(), size > 0, let md5 = fields.hex(),
            let time = fields.number(), let modified = fields.text(), let type = fields.text(),
            let fileName = fields.text(), let path = fields.text()
        else { return nil }
        let plan = UploadPlan(
            user: user, size: size, md5: md5, fileName: fileName, path: path.isEmpty ? nil : path, type: type,
            modified: Int64(modified), sha256: fields.sha256())
        return .opened(id, plan, at: time)
    }

    private static func content(_ token: Hex128, _ fields: inout Fields) -> JournalEntry? {
        guard let user = fields.text(), let size = fields.number(), let md5 = fields.hex(),
            let variant = fields.number(), let type = fields.text(), let name = fields.text()
        else { return nil }
        return .content(
            Content(
                key: ContentKey(user: user, md5: md5, size: size), token: token,
                object: ObjectName(md5: md5, variant: Int(variant)), name: name, type: type, sha256: fields.sha256(),
                at: fields.number(), paths: ArrivalPaths(text: fields.text() ?? "")))
    }

    private static func committed(_ token: Hex128, _ fields: inout Fields) -> JournalEntry? {
        guard let user = fields.text(), let sourceID = fields.text(), let revision = fields.number(),
            let title = fields.text(), let createDate = fields.text(), let cover = fields.text(),
            let contents = fields.text()
        else { return nil }
        return .committed(
            Commit(
                source: Commit.Source(user: user, id: sourceID), revision: Int(revision), token: token, title: title,
                createDate: createDate, cover: Hex128(cover),
                contents: hexes(contents), requests: hexes(fields.text() ?? "")))
    }

    private static func hexes(_ list: String) -> [Hex128] { list.split(separator: ",").compactMap { Hex128($0) } }

    private struct Fields {
        private var rest: ArraySlice<Slice<UnsafeRawBufferPointer>>

        init(_ fields: [Slice<UnsafeRawBufferPointer>]) {
            rest = fields[...]
        }

        mutating func text() -> String? { rest.popFirst().map { JournalLine.unescaped($0) } }
        mutating func number() -> Int64? { rest.popFirst().flatMap { Int64(JournalLine.text($0)) } }
        mutating func hex() -> Hex128? { rest.popFirst().flatMap { Hex128($0) } }
        /// Returns nil if the field is empty, or missing in a line written by an older version.
        mutating func sha256() -> Hex256? { text().flatMap { Hex256($0) } }
    }

    // MARK: Bytes

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    private static func appendEscaped(_ field: String, to bytes: inout [UInt8]) {
        for byte in field.utf8 {
            switch byte {
            case UInt8(ascii: "\t"): bytes.append(contentsOf: "%t".utf8)
            case UInt8(ascii: "\n"): bytes.append(contentsOf: "%n".utf8)
            case UInt8(ascii: "%"): bytes.append(contentsOf: "%%".utf8)
            default: bytes.append(byte)
            }
        }
    }

    private static func unescaped(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        guard bytes.contains(UInt8(ascii: "%")) else { return text(bytes) }
        var plain: [UInt8] = []
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%"), let code = iterator.next() else {
                plain.append(byte)
                continue
            }
            switch code {
            case UInt8(ascii: "t"): plain.append(UInt8(ascii: "\t"))
            case UInt8(ascii: "n"): plain.append(UInt8(ascii: "\n"))
            default: plain.append(code)
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }

    private static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var hash: UInt32 = 2_166_136_261
        for byte in bytes { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return hash
    }
}

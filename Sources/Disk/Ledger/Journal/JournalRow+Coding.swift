import UploadCore

// A row takes as few bytes as is reasonable: there may be a million. Numbers are variable-length, digests that a server
// writes in hexadecimal take half, and a URL that ends in the file's name does without it.

extension JournalRow: StoredRecord {
    static var table: LedgerTable { .journal }

    /// The optional fields present in a row, as bits.
    private struct Presence: OptionSet {
        let rawValue: UInt16
        static let key = Presence(rawValue: 1)
        static let size = Presence(rawValue: 2)
        static let sent = Presence(rawValue: 4)
        static let error = Presence(rawValue: 8)
        static let remoteID = Presence(rawValue: 16)
        static let url = Presence(rawValue: 32)
        static let sha256 = Presence(rawValue: 64)
        static let revision = Presence(rawValue: 128)
        static let type = Presence(rawValue: 256)
        static let taken = Presence(rawValue: 512)
        /// A property of its own.
        static let deduplicated = Presence(rawValue: 1024)
    }

    /// A message may quote a server's page.
    private static let longestMessage = 400

    private var presence: Presence {
        var presence: Presence = []
        if key != nil { presence.insert(.key) }
        if size != nil { presence.insert(.size) }
        if sent != nil { presence.insert(.sent) }
        if error != nil { presence.insert(.error) }
        if remote.id != nil { presence.insert(.remoteID) }
        if remote.url != nil { presence.insert(.url) }
        if sha256 != nil { presence.insert(.sha256) }
        if revision != 0 { presence.insert(.revision) }
        if !type.isEmpty { presence.insert(.type) }
        if taken != nil { presence.insert(.taken) }
        if isDeduplicated { presence.insert(.deduplicated) }
        return presence
    }

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(presence.rawValue)
        encoder.append(subject.rawValue << 4 | outcome.rawValue)
        encoder.append(short: UInt64(bitPattern: time.milliseconds))
        encoder.append(short: path.bytes)
        if let key { encoder.append(key) }
        if let size { encoder.append(short: size) }
        if !type.isEmpty { encoder.append(type: type) }
        if let sent {
            encoder.append(sent.key)
            encoder.append(short: sent.size)
            encoder.append(type: sent.type)
        }
        if let error {
            encoder.append(short: Array(error.code.utf8))
            encoder.append(short: Array(error.message.prefix(Self.longestMessage).utf8))
            encoder.append(UInt8(error.retryable ? 1 : 0))
        }
        if let id = remote.id { encoder.append(packed: id) }
        if let url = remote.url { encoder.append(packed: url, endingIn: path.name) }
        if let sha256 { for byte in sha256.bytes { encoder.append(byte) } }
        if revision != 0 { encoder.append(short: UInt64(revision)) }
        if let taken { encoder.append(short: UInt64(clamping: time.milliseconds - taken.milliseconds)) }
    }

    /// Returns the bytes of the path in a stored row, without decoding or verifying the rest.
    static func path(in bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var decoder = RecordDecoder(unchecked: bytes)
        // Presence, subject and outcome.
        decoder.skip(3)
        _ = decoder.readShort()
        return decoder.readShortBytes()
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> JournalRow? {
        let presence = Presence(rawValue: decoder.read(UInt16.self))
        let word = decoder.read(UInt8.self)
        guard let subject = Subject(rawValue: word >> 4), let outcome = Outcome(rawValue: word & 15) else { return nil }
        let time = WallTime(milliseconds: Int64(bitPattern: decoder.readShort()))
        guard let path = RelativePath(orRoot: decoder.readShortBytes()) else { return nil }
        var row = JournalRow(time: time, subject: subject, outcome: outcome, path: path)
        row.isDeduplicated = presence.contains(.deduplicated)
        if presence.contains(.key) { row.key = decoder.readContentKey() }
        if presence.contains(.size) { row.size = decoder.readShort() }
        if presence.contains(.type) { row.type = decoder.readType() }
        if presence.contains(.sent) {
            row.sent = Sent(key: decoder.readContentKey(), size: decoder.readShort(), type: decoder.readType())
        }
        if presence.contains(.error) {
            row.error = FileError(
                code: decoder.readShortText(), message: decoder.readShortText(), retryable: decoder.readFlag())
        }
        if presence.contains(.remoteID) { row.remote.id = decoder.readPacked() }
        if presence.contains(.url) { row.remote.url = decoder.readPacked(endingIn: path.name) }
        if presence.contains(.sha256) {
            row.sha256 = StrongDigest((0..<StrongDigest.length).map { _ in decoder.read(UInt8.self) })
        }
        if presence.contains(.revision) { row.revision = Int(truncatingIfNeeded: decoder.readShort()) }
        if presence.contains(.taken) {
            let age = Int64(clamping: decoder.readShort())
            row.taken = WallTime(milliseconds: time.milliseconds.subtractingReportingOverflow(age).partialValue)
        }
        return row
    }
}

/// The path that the file of a row has now.
struct JournalPlace: StoredRecord, Equatable {
    static var table: LedgerTable { .journal }

    var path: RelativePath

    func encodeFields(into encoder: inout RecordEncoder) { encoder.append(short: path.bytes) }

    static func decodeFields(from decoder: inout RecordDecoder) -> JournalPlace? {
        RelativePath(orRoot: decoder.readShortBytes()).map { JournalPlace(path: $0) }
    }
}

extension RelativePath {
    fileprivate init?(orRoot bytes: [UInt8]) {
        if bytes.isEmpty { self = .root } else { self.init(bytes) }
    }
}

extension RecordEncoder {
    /// Appends a number, seven bits a byte, the lowest first; the highest bit says whether more follow.
    mutating func append(short number: UInt64) {
        var rest = number
        while rest > 0x7f {
            append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    /// Appends bytes after their short number.
    mutating func append(short field: some Collection<UInt8>) {
        append(short: UInt64(field.count))
        for byte in field { append(byte) }
    }

    /// Appends a media type: a number for the usual ones, which count from 1; 0 before any other. Never change the numbers.
    mutating func append(type: String) {
        let number = usualTypes.firstIndex(of: type).map { $0 + 1 } ?? 0
        append(UInt8(number))
        if number == 0 { append(short: Array(type.utf8)) }
    }

    /// Appends a text with its first 32 hexadecimal digits as 16 bytes, and without its end if that is this name.
    mutating func append(packed text: String, endingIn name: ArraySlice<UInt8>? = nil) {
        var bytes = Array(text.utf8)
        let endsInName = name.map { !$0.isEmpty && bytes.count >= $0.count && bytes.suffix($0.count) == $0 } ?? false
        if endsInName, let name { bytes.removeLast(name.count) }
        let digits = bytes.firstDigits
        append(UInt8((endsInName ? 1 : 0) | (digits == nil ? 0 : 2)))
        guard let digits, let key = ContentKey(hexadecimal: String(decoding: bytes[digits], as: UTF8.self)) else {
            return append(short: bytes)
        }
        append(short: bytes[..<digits.lowerBound])
        append(key)
        append(short: bytes[digits.upperBound...])
    }
}

extension [UInt8] {
    /// The first 32 lower-case hexadecimal digits in a row; nil if there are none.
    fileprivate var firstDigits: Range<Int>? {
        var start = 0
        for (index, byte) in enumerated() {
            let isDigit = (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
            if !isDigit { start = index + 1 }
            if index + 1 - start == 32 { return start..<(index + 1) }
        }
        return nil
    }
}

private let usualTypes = [
    "image/jpeg", "image/png", "image/heic", "image/webp", "video/mp4", "video/quicktime", "image/gif", "image/avif",
    "image/tiff", "video/x-matroska",
]

extension RecordDecoder {
    mutating func readType() -> String {
        let number = Int(read(UInt8.self))
        if number == 0 { return readShortText() }
        if usualTypes.indices.contains(number - 1) { return usualTypes[number - 1] }
        fail()
        return ""
    }

    mutating func readShort() -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = read(UInt8.self)
            number |= UInt64(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return number }
        }
        fail()
        return 0
    }

    mutating func readShortBytes() -> [UInt8] { readBytes(count: Int(clamping: readShort())) }

    mutating func readShortText() -> String {
        if let text = String(validating: readShortBytes(), as: UTF8.self) { return text }
        fail()
        return ""
    }

    mutating func readPacked(endingIn name: ArraySlice<UInt8> = []) -> String {
        let form = read(UInt8.self)
        if form > 3 { fail() }
        var text = readShortText()
        if form & 2 != 0 { text += "\(readContentKey())" + readShortText() }
        // Only a name in UTF-8 is equal to the end of a text.
        return form & 1 != 0 ? text + String(decoding: name, as: UTF8.self) : text
    }
}

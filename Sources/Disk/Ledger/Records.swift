import UploadCore

/// A value stored in one record.
protocol StoredRecord {
    static var table: LedgerTable { get }

    func encodeFields(into encoder: inout RecordEncoder)

    /// Decodes the fields; the result is meaningless if the decoder is not sound.
    static func decodeFields(from decoder: inout RecordDecoder) -> Self?
}

extension StoredRecord {
    func encode(into encoder: inout RecordEncoder, key: [UInt8]) {
        encoder.begin()
        encodeFields(into: &encoder)
        encoder.seal(table: Self.table, key: key)
    }

    /// Decodes a record; fails unless checksum, format and all fields are valid.
    static func decode(_ bytes: UnsafeRawBufferPointer, key: [UInt8]) -> Result<Self, LedgerError> {
        decode(bytes, key: key, by: decodeFields)
    }

    /// Decodes a part of a record; fails unless checksum, format and all fields are valid.
    ///
    /// - Parameter part: reads or skips every field, and returns the wanted part.
    static func decode<Part>(
        _ bytes: UnsafeRawBufferPointer, key: [UInt8], by part: (inout RecordDecoder) -> Part?
    ) -> Result<Part, LedgerError> {
        if var decoder = RecordDecoder(bytes, table: table, key: key) {
            if let found = part(&decoder), decoder.isSound { return .success(found) }
        }
        return .failure(.damagedRecord(table: table, key: key))
    }
}

extension UploadRecord: StoredRecord {
    static var table: LedgerTable { .uploads }

    func encodeFields(into encoder: inout RecordEncoder) {
        encodeOldFields(into: &encoder)
        encodeNewFields(into: &encoder)
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> UploadRecord? {
        var record = decodeOldFields(from: &decoder)
        record.decodeNewFields(from: &decoder)
        return record
    }

    /// Appends the fields of schemas 5 and 7 at the end of the record. Records without them, or older, end earlier.
    func encodeNewFields(into encoder: inout RecordEncoder) {
        guard sha256 != nil || handle?.object != nil else { return }
        encoder.append(bytes: sha256?.bytes ?? [])
        if let object = handle?.object { encoder.append(object) }
    }

    mutating func decodeNewFields(from decoder: inout RecordDecoder) {
        guard !decoder.isSound else { return }
        let digest = decoder.readBytes()
        sha256 = StrongDigest(digest)
        if sha256 == nil, !digest.isEmpty { decoder.fail() }
        if !decoder.isSound { handle?.object = decoder.readText() }
    }

    func encodeOldFields(into encoder: inout RecordEncoder) {
        encoder.append(key)
        encoder.append(seal)
        encoder.append(plan.size)
        encoder.append(plan.fragmentSize)
        encoder.append(scope.description)
        encoder.append(optional: handle?.id)
        encoder.append(Int64(assemblyFailures))
        encoder.append(Int64(attempts))
        encoder.append(order)
    }

    static func decodeOldFields(from decoder: inout RecordDecoder) -> UploadRecord {
        let key = decoder.readContentKey()
        let seal = decoder.readSeal()
        let plan = FragmentPlan(size: decoder.read(UInt64.self), fragmentSize: decoder.read(UInt32.self))
        let scope = RemoteScope(decoder.readText())
        let handle = decoder.readOptionalText().map { RemoteHandle(id: $0) }
        let assemblyFailures = Int(truncatingIfNeeded: decoder.read(Int64.self))
        let attempts = Int(truncatingIfNeeded: decoder.read(Int64.self))
        var record = UploadRecord(key: key, seal: seal, plan: plan, scope: scope, order: decoder.read(Int64.self))
        record.handle = handle
        record.assemblyFailures = assemblyFailures
        record.attempts = attempts
        return record
    }
}

extension Confirmation: StoredRecord {
    static var table: LedgerTable { .confirmations }

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(key)
        encoder.append(seal)
        encoder.append(scope.description)
        encoder.append(remote)
        encoder.append(confirmedAt.milliseconds)
        // The record's last field since schema 5; older records lack the flag.
        if isByMD5Alone { encoder.append(UInt8(1)) }
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> Confirmation? {
        let key = decoder.readContentKey()
        let seal = decoder.readSeal()
        let scope = RemoteScope(decoder.readText())
        let remote = decoder.readRemoteObject()
        let confirmedAt = WallTime(milliseconds: decoder.read(Int64.self))
        var confirmation = Confirmation(
            key: key, seal: seal, scope: scope, remote: remote, confirmedAt: confirmedAt)
        confirmation.isByMD5Alone = !decoder.isSound && decoder.readFlag()
        return confirmation
    }
}

extension FragmentPage: StoredRecord {
    static var table: LedgerTable { .fragments }

    private static var wordsAtMost: Int { fragments / 64 }

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(UInt32(truncatingIfNeeded: index))
        encoder.append(words: words)
        encoder.append(UInt32(truncatingIfNeeded: receipts.count))
        for (index, receipt) in receipts {
            encoder.append(Int64(index))
            encoder.append(receipt)
        }
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> FragmentPage? {
        let index = Int(decoder.read(UInt32.self))
        let words = decoder.readWords(atMost: wordsAtMost)
        let count = decoder.read(UInt32.self)
        guard count <= fragments else { return nil }
        var receipts: [Int: String] = [:]
        for _ in 0..<count {
            let fragment = Int(truncatingIfNeeded: decoder.read(Int64.self))
            receipts[fragment] = decoder.readText()
        }
        return FragmentPage(index: index, words: words, receipts: receipts)
    }
}

/// Keyed digests of up to 4096 blocks of one content.
struct DigestPage: StoredRecord, Equatable {
    static let blocks = 4096
    static var table: LedgerTable { .digests }

    var digests: [UInt64]

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(words: digests)
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> DigestPage? {
        DigestPage(digests: decoder.readWords(atMost: blocks))
    }
}

/// A setting's value.
struct SettingRecord: StoredRecord, Equatable {
    static var table: LedgerTable { .settings }

    var value: [UInt8]

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(bytes: value)
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> SettingRecord? {
        SettingRecord(value: decoder.readBytes())
    }
}

/// A value about the ledger itself.
struct MetaRecord: StoredRecord, Equatable {
    static var table: LedgerTable { .meta }

    var value: [UInt8]

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(bytes: value)
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> MetaRecord? {
        MetaRecord(value: decoder.readBytes())
    }
}

/// An upload to delete on the server. Its key is a hash: should two uploads of a scope ever share a hash, one of them
/// stays on the server until it expires there.
struct RemovalRecord: StoredRecord, Equatable {
    static var table: LedgerTable { .removals }

    var handle: RemoteHandle
    var scope: RemoteScope

    /// The record's key in the table.
    var key: [UInt8] { LedgerKeys.removal(handle, scope) }

    init(_ handle: RemoteHandle, _ scope: RemoteScope) {
        self.handle = handle
        self.scope = scope
    }

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(handle.id)
        encoder.append(optional: handle.object)
        encoder.append(scope.description)
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> RemovalRecord? {
        let handle = RemoteHandle(id: decoder.readText(), object: decoder.readOptionalText())
        return RemovalRecord(handle, RemoteScope(decoder.readText()))
    }

    func store(in transaction: borrowing WriteTransaction) throws(LMDBError) {
        var encoder = RecordEncoder()
        encode(into: &encoder, key: key)
        try transaction.put(Self.table.table, key, encoder.bytes)
    }
}

import UploadCore

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

// Up to version 6, an id to delete was a setting: the name held the id, and the value the scope.
extension RemovalRecord {
    private static let prefix = Array("removal/".utf8)

    /// Reads a setting of version 6; nil if it is no id to delete, or damaged.
    init?(setting key: [UInt8], _ value: [UInt8]) {
        guard key.starts(with: Self.prefix),
            let scope = value.withUnsafeBytes({ try? SettingRecord.decode($0, key: key).get().value })
        else { return nil }
        self.init(
            RemoteHandle(id: String(decoding: key.dropFirst(Self.prefix.count), as: UTF8.self)),
            RemoteScope(String(decoding: scope, as: UTF8.self)))
    }

    /// Moves the ids from the settings to their table.
    static func adoptSettings(in transaction: borrowing WriteTransaction) throws(LMDBError) {
        for key in try transaction.reading.keys(LedgerTable.settings.table, prefix: prefix) {
            let value = try transaction.reading.get(LedgerTable.settings.table, key) { Array($0) }
            if let removal = RemovalRecord(setting: key, value ?? []) { try removal.store(in: transaction) }
            try transaction.remove(LedgerTable.settings.table, key)
        }
    }
}

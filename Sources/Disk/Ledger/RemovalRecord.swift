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

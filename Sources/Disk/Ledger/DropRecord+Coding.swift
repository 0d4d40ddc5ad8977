import UploadCore

extension DropRecord: StoredRecord {
    static var table: LedgerTable { .drops }

    /// The optional fields present in a record, as bits.
    private struct Presence: OptionSet {
        let rawValue: UInt16
        static let identity = Presence(rawValue: 1)
        static let key = Presence(rawValue: 2)
        static let type = Presence(rawValue: 4)
        static let error = Presence(rawValue: 8)
        static let remote = Presence(rawValue: 16)
        // Bit 32 is unused: no program ever wrote the field.
        static let startedAt = Presence(rawValue: 64)
        static let finishedAt = Presence(rawValue: 128)
        static let deduplicated = Presence(rawValue: 256)
        static let attempts = Presence(rawValue: 512)
        static let disposal = Presence(rawValue: 1024)
        static let facts = Presence(rawValue: 2048)
        static let examined = Presence(rawValue: 4096)
        static let account = Presence(rawValue: 8192)
        static let flags = Presence(rawValue: 16384)
        static let product = Presence(rawValue: 32768)
    }

    private var presence: Presence {
        var presence: Presence = []
        if identity != nil { presence.insert(.identity) }
        if key != nil { presence.insert(.key) }
        if type != nil { presence.insert(.type) }
        if error != nil { presence.insert(.error) }
        if remote != nil { presence.insert(.remote) }
        if startedAt != nil { presence.insert(.startedAt) }
        if finishedAt != nil { presence.insert(.finishedAt) }
        if deduplicated { presence.insert(.deduplicated) }
        if attempts != 0 { presence.insert(.attempts) }
        if disposal != nil { presence.insert(.disposal) }
        if facts != nil { presence.insert(.facts) }
        if isExamined { presence.insert(.examined) }
        if account != nil { presence.insert(.account) }
        if !flags.isEmpty { presence.insert(.flags) }
        if product != nil { presence.insert(.product) }
        return presence
    }

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(bytes: path.bytes)
        encoder.append(presence.rawValue)
        encoder.append(state.code)
        encoder.append(acceptedAt.milliseconds)
        if let identity { encoder.append(identity) }
        if let key { encoder.append(key) }
        if let type { encoder.append(type) }
        if let error { encoder.append(error) }
        if let remote { encoder.append(remote) }
        if let startedAt { encoder.append(startedAt.milliseconds) }
        if let finishedAt { encoder.append(finishedAt.milliseconds) }
        if attempts != 0 { encoder.append(Int64(attempts)) }
        if let disposal { encoder.append(disposal) }
        if let facts { encoder.append(facts) }
        if let account { encoder.append(account) }
        if !flags.isEmpty { encoder.append(flags.rawValue) }
        if let product { encoder.append(product) }
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> DropRecord? {
        guard let path = RelativePath(decoder.readBytes()) else { return nil }
        let presence = Presence(rawValue: decoder.read(UInt16.self))
        guard let state = FileState(code: decoder.read(UInt8.self)) else { return nil }
        let acceptedAt = WallTime(milliseconds: decoder.read(Int64.self))
        var record = DropRecord(path: path, state: state, acceptedAt: acceptedAt)
        if presence.contains(.identity) { record.identity = decoder.readIdentity() }
        if presence.contains(.key) { record.key = decoder.readContentKey() }
        if presence.contains(.type) { record.type = decoder.readMediaType() }
        if presence.contains(.error) { record.error = decoder.readFileError() }
        if presence.contains(.remote) { record.remote = decoder.readRemoteObject() }
        if presence.contains(.startedAt) { record.startedAt = WallTime(milliseconds: decoder.read(Int64.self)) }
        if presence.contains(.finishedAt) { record.finishedAt = WallTime(milliseconds: decoder.read(Int64.self)) }
        if presence.contains(.attempts) { record.attempts = Int(truncatingIfNeeded: decoder.read(Int64.self)) }
        record.deduplicated = presence.contains(.deduplicated)
        if presence.contains(.disposal) { record.disposal = decoder.readDisposal() }
        if presence.contains(.facts) { record.facts = decoder.readFacts() }
        record.isExamined = presence.contains(.examined)
        if presence.contains(.account) { record.account = decoder.readText() }
        if presence.contains(.flags) { record.flags = DropRecord.Flags(rawValue: decoder.read(UInt8.self)) }
        if presence.contains(.product) { record.product = decoder.readProduct() }
        return record
    }

    /// Decodes only what counts and queries compare. Valid only during the transaction that supplied the bytes.
    static func outline(in bytes: UnsafeRawBufferPointer, key: [UInt8]) -> Outline? {
        guard var decoder = RecordDecoder(bytes, table: table, key: key) else { return nil }
        return Outline(from: &decoder)
    }

    /// A part of a drop's record, decoded without any copy.
    struct Outline {
        /// The path's bytes. Valid only during the transaction that supplied the record.
        let path: UnsafeRawBufferPointer
        let tally: Tally
        let acceptedAt: WallTime
        let finishedAt: WallTime?

        init?(from decoder: inout RecordDecoder) {
            path = decoder.readField()
            let presence = Presence(rawValue: decoder.read(UInt16.self))
            guard let state = FileState(code: decoder.read(UInt8.self)) else { return nil }
            acceptedAt = WallTime(milliseconds: decoder.read(Int64.self))
            var finishedAt: WallTime?
            var isTrace = false
            // Only a few fields precede these two.
            if presence.contains(.finishedAt) || presence.contains(.disposal) {
                // Six numbers of the identity; two of the key.
                decoder.skip((presence.contains(.identity) ? 48 : 0) + (presence.contains(.key) ? 16 : 0))
                if presence.contains(.type) { decoder.skipMediaType() }
                if presence.contains(.error) { decoder.skipFileError() }
                if presence.contains(.remote) { decoder.skipRemoteObject() }
                if presence.contains(.startedAt) { decoder.skip(8) }
                if presence.contains(.finishedAt) { finishedAt = WallTime(milliseconds: decoder.read(Int64.self)) }
                if presence.contains(.attempts) { decoder.skip(8) }
                if presence.contains(.disposal), case .movedAway = decoder.readDisposal() { isTrace = true }
            }
            self.finishedAt = finishedAt
            tally = isTrace ? .trace : .state(state)
        }
    }
}

extension FileState {
    /// The state's number in records. Never change these numbers.
    var code: UInt8 {
        switch self {
        case .settling: 0
        case .hashing: 1
        case .queued: 2
        case .uploading: 3
        case .verifying: 4
        case .waiting: 5
        case .paused: 6
        case .signedOut: 7
        case .done: 8
        case .failed: 9
        case .cancelled: 10
        case .rejected: 11
        case .processing: 12
        }
    }

    init?(code: UInt8) {
        switch code {
        case 0: self = .settling
        case 1: self = .hashing
        case 2: self = .queued
        case 3: self = .uploading
        case 4: self = .verifying
        case 5: self = .waiting
        case 6: self = .paused
        case 7: self = .signedOut
        case 8: self = .done
        case 9: self = .failed
        case 10: self = .cancelled
        case 11: self = .rejected
        case 12: self = .processing
        default: return nil
        }
    }
}

extension ProductRecord: StoredRecord {
    static var table: LedgerTable { .products }

    /// The record's key in the table.
    var key: [UInt8] { LedgerKeys.product(product.original, recipe: product.recipe) }

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(product)
        encoder.append(UInt8(content == nil ? 0 : 1))
        if let content {
            encoder.append(content.key)
            encoder.append(content.seal)
        }
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> ProductRecord? {
        let product = decoder.readProduct()
        guard decoder.readFlag() else { return ProductRecord(product: product, content: nil) }
        let content = DropContent(key: decoder.readContentKey(), seal: decoder.readSeal())
        return ProductRecord(product: product, content: content)
    }
}

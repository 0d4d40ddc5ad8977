import UploadCore

// Encoding of values that occur in several records.

extension RecordEncoder {
    mutating func append(optional text: String?) {
        append(UInt8(text == nil ? 0 : 1))
        if let text { append(text) }
    }

    mutating func append(_ key: ContentKey) {
        append(key.high)
        append(key.low)
    }

    mutating func append(_ seal: ContentSeal) {
        append(seal.size)
        append(seal.digest)
    }

    mutating func append(_ identity: FileIdentity) {
        append(identity.device)
        append(identity.inode)
        append(identity.size)
        append(identity.modified)
        append(identity.changed)
        append(identity.born)
    }

    mutating func append(_ type: MediaType) {
        switch type.kind {
        case .image: append(UInt8(0))
        case .video: append(UInt8(1))
        case .other: append(UInt8(2))
        }
        append(type.mime)
    }

    mutating func append(_ error: FileError) {
        append(error.code)
        append(error.message)
        append(UInt8(error.retryable ? 1 : 0))
    }

    mutating func append(_ disposal: Disposal) {
        switch disposal {
        case .pending: append(UInt8(0))
        case .moved(let old):
            append(UInt8(1))
            append(bytes: old.bytes)
        case .deleted: append(UInt8(2))
        case .movedAway(let new):
            append(UInt8(3))
            append(bytes: new.bytes)
        }
    }

    mutating func append(_ facts: MediaFacts) {
        for side in [facts.width, facts.height] { append(Int64(side ?? 0)) }
        append(UInt8(facts.duration == nil ? 0 : 1))
        if let duration = facts.duration { append(duration.bitPattern) }
    }

    mutating func append(_ product: Product) {
        append(product.original)
        append(product.originalSeal)
        append(product.recipe)
        append(optional: product.error)
        append(UInt8(product.made == nil ? 0 : 1))
        if let made = product.made {
            append(made.type)
            append(made.size)
            append(made.facts)
        }
    }

    mutating func append(_ remote: RemoteObject) {
        append(optional: remote.id)
        append(optional: remote.url)
    }
}

extension RecordDecoder {
    mutating func readFlag() -> Bool {
        switch read(UInt8.self) {
        case 0: return false
        case 1: return true
        default:
            fail()
            return false
        }
    }

    mutating func readOptionalText() -> String? {
        readFlag() ? readText() : nil
    }

    mutating func readPath() -> RelativePath {
        if let path = RelativePath(readBytes()) { return path }
        fail()
        return .root
    }

    mutating func readContentKey() -> ContentKey {
        ContentKey(high: read(UInt64.self), low: read(UInt64.self))
    }

    mutating func readSeal() -> ContentSeal {
        ContentSeal(size: read(UInt64.self), digest: read(UInt64.self))
    }

    mutating func readIdentity() -> FileIdentity {
        FileIdentity(
            device: read(UInt64.self), inode: read(UInt64.self), size: read(UInt64.self), modified: read(Int64.self),
            changed: read(Int64.self), born: read(Int64.self))
    }

    mutating func readProduct() -> Product {
        let (original, seal, recipe) = (readContentKey(), readSeal(), readText())
        let error = readOptionalText()
        let made =
            readFlag() ? Product.Made(type: readMediaType(), size: read(UInt64.self), facts: readFacts()) : nil
        return Product(original: original, seal: seal, recipe: recipe, made: made, error: error)
    }

    mutating func readMediaType() -> MediaType {
        switch read(UInt8.self) {
        case 0: return MediaType(kind: .image, mime: readText())
        case 1: return MediaType(kind: .video, mime: readText())
        case 2: return MediaType(kind: .other, mime: readText())
        default:
            fail()
            return .other
        }
    }

    mutating func readFileError() -> FileError {
        FileError(code: readText(), message: readText(), retryable: readFlag())
    }

    mutating func readDisposal() -> Disposal {
        switch read(UInt8.self) {
        case 0: return .pending
        case 1:
            if let old = RelativePath(readBytes()) { return .moved(from: old) }
        case 2: return .deleted
        case 3:
            if let new = RelativePath(readBytes()) { return .movedAway(to: new) }
        default: break
        }
        fail()
        return .pending
    }

    mutating func skipMediaType() {
        _ = read(UInt8.self)
        _ = readField()
    }

    mutating func skipFileError() {
        _ = readField()
        _ = readField()
        _ = readFlag()
    }

    mutating func skipRemoteObject() {
        for _ in 0..<2 where readFlag() { _ = readField() }
    }

    mutating func readFacts() -> MediaFacts {
        let sides = [read(Int64.self), read(Int64.self)].map { $0 > 0 ? Int(truncatingIfNeeded: $0) : nil }
        return MediaFacts(
            width: sides[0], height: sides[1],
            duration: readFlag() ? Double(bitPattern: read(UInt64.self)) : nil)
    }

    mutating func readRemoteObject() -> RemoteObject {
        RemoteObject(id: readOptionalText(), url: readOptionalText())
    }
}

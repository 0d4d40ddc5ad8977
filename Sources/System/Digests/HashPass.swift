/// A digest function that takes its input piece by piece.
protocol DigestFunction {
    init()
    mutating func update(_ bytes: UnsafeRawBufferPointer)
    /// Returns the digest. The value must not be used afterwards.
    mutating func finish() -> [UInt8]
    /// Adds the next bytes to two values.
    static func update(_ first: inout Self, _ second: inout Self, _ bytes: UnsafeRawBufferPointer)
}

extension DigestFunction {
    static func update(_ first: inout Self, _ second: inout Self, _ bytes: UnsafeRawBufferPointer) {
        first.update(bytes)
        second.update(bytes)
    }
}

extension MD5Hasher: DigestFunction {}
extension SHA256Hasher: DigestFunction {}

/// Computes the digest of a content, those of its parts, or both, by one function.
struct HashPass<Function: DigestFunction> {
    /// The hasher of the whole content; nil if its digest is not wanted.
    var whole: Function?
    private var part: Function?
    private let partSize: UInt64
    /// The number of bytes that the part lacks.
    private var missing: UInt64
    /// The digests of the parts that ended.
    private var digests: [[UInt8]] = []

    /// - Parameter partSize: the size of each part but the last, in bytes; nil without digests of parts.
    init(whole: Bool, partSize: UInt64?) {
        self.whole = whole ? Function() : nil
        part = partSize == nil ? nil : Function()
        self.partSize = max(1, partSize ?? .max)
        missing = self.partSize
    }

    var isIdle: Bool { whole == nil && part == nil }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard part != nil else {
            whole?.update(bytes)
            return
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(clamping: missing)))
            add(piece)
            missing -= UInt64(piece.count)
            if missing == 0 { finishPart() }
            rest = rest.dropFirst(piece.count)
        }
    }

    private mutating func add(_ piece: UnsafeRawBufferPointer) {
        guard var first = whole, var second = part else {
            whole?.update(piece)
            part?.update(piece)
            return
        }
        Function.update(&first, &second, piece)
        whole = first
        part = second
    }

    private mutating func finishPart() {
        if let digest = part?.finish() { digests.append(digest) }
        part = Function()
        missing = partSize
    }

    /// Returns the digests of all parts; nil if they were not computed. An empty content is one part.
    mutating func finishParts() -> [[UInt8]]? {
        guard part != nil else { return nil }
        if missing < partSize || digests.isEmpty { finishPart() }
        return digests
    }
}

package import UploadCore

extension RelativePath {
    /// Parses a path that `description` shows with percent-encoded bytes. Returns nil if no byte needs the encoding,
    /// or if `description` never produces this text. This is the only way to type a name that is not UTF-8.
    package init?(shown text: String) {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return nil }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let first = rest.popFirst() {
            guard first == UInt8(ascii: "%") else {
                bytes.append(first)
                continue
            }
            guard rest.count >= 2, let byte = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        guard let path = RelativePath(bytes), path.description == text else { return nil }
        self = path
    }
}

import Digests
import UploadCore

/// What sidecars are called (docs/sidecars.md).
enum SidecarName {
    /// Longest file name of Linux file systems, in bytes.
    static let longest = 255

    /// The sidecar's name for a file name.
    ///
    /// - Parameters:
    ///   - name: the file's name, at most 255 bytes.
    ///   - copy: 1 for the usual name, 2 and more for the next ones where foreign files bear those before.
    static func name(for name: some Collection<UInt8>, copy: Int = 1) -> [UInt8] {
        let suffix = Array((copy > 1 ? " (\(copy))" : "").utf8) + IntakeRules.sidecarSuffix
        if name.count + suffix.count <= longest { return Array(name) + suffix }
        let tail = Array("~\(hash(of: name))".utf8) + suffix
        return Array(head(of: Array(name), atMost: longest - tail.count)) + tail
    }

    /// What the sidecar of a file name is called while it is being written; hidden, and ignored by the watch.
    static func temporary(for name: some Collection<UInt8>) -> [UInt8] {
        Array(".outbox-\(hash(of: name)).tmp".utf8)
    }

    /// Another name of this kind, where that one is taken.
    static func temporary(_ number: UInt32) -> [UInt8] {
        Array(".outbox-\(number.hexadecimal).tmp".utf8)
    }

    /// Whether a name is one of those: such a file must never be taken, whatever the configuration ignores.
    static func isTemporary(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        name.count == 20 && name.starts(with: ".outbox-".utf8) && name.suffix(4).elementsEqual(".tmp".utf8)
    }

    /// Whether a name ends as every sidecar's does.
    static func isSidecar(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        name.count > IntakeRules.sidecarSuffix.count
            && name.suffix(IntakeRules.sidecarSuffix.count)
                .elementsEqual(IntakeRules.sidecarSuffix)
    }

    /// The file name that a sidecar's name begins with.
    static func subject(of sidecar: [UInt8]) -> [UInt8] { sidecar.dropLast(IntakeRules.sidecarSuffix.count) }

    /// Whether a sidecar may be that of a file whose name was cut.
    static func isShortened(_ sidecar: [UInt8]) -> Bool {
        let tail = subject(of: sidecar).suffix(9)
        return tail.first == UInt8(ascii: "~")
            && tail.dropFirst().allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Whether the sidecar of a file name can't hold the whole name.
    static func isLong(_ name: [UInt8]) -> Bool { name.count + IntakeRules.sidecarSuffix.count > longest }

    /// The first 8 hexadecimal digits of the MD5 of a file name.
    private static func hash(of name: some Collection<UInt8>) -> String {
        MD5Hasher.hash(Array(name)).prefix(4).hexadecimal
    }

    /// The longest beginning that does not end within a UTF-8 character.
    static func head(of name: [UInt8], atMost limit: Int) -> ArraySlice<UInt8> {
        var end = min(limit, name.count)
        while end > 0, end < name.count, name[end] & 0b1100_0000 == 0b1000_0000, limit - end < 4 { end -= 1 }
        return name[..<end]
    }
}

import Digests
import UploadCore

/// Names of sidecars (docs/sidecars.md).
package enum SidecarName {
    /// Maximum length of a file name on Linux, in bytes.
    static let longest = 255

    /// Returns the sidecar's name for a file name.
    ///
    /// - Parameters:
    ///   - name: the file's name, at most 255 bytes.
    ///   - copy: 1 for the usual name. Higher numbers if foreign files have the earlier names.
    package static func name(for name: some Collection<UInt8>, copy: Int = 1) -> [UInt8] {
        let suffix = Array((copy > 1 ? " (\(copy))" : "").utf8) + IntakeRules.sidecarSuffix
        if name.count + suffix.count <= longest { return Array(name) + suffix }
        let tail = Array("~\(hash(of: name))".utf8) + suffix
        return Array(head(of: Array(name), atMost: longest - tail.count)) + tail
    }

    /// Returns the name of a sidecar while it is being written. The file is hidden, and the watch ignores it.
    package static func temporary(for name: some Collection<UInt8>) -> [UInt8] {
        Array(".outbox-\(hash(of: name)).tmp".utf8)
    }

    /// Returns another temporary name, if the usual one is taken.
    package static func temporary(_ number: UInt32) -> [UInt8] {
        Array(".outbox-\(number.hexadecimal).tmp".utf8)
    }

    /// Whether a name is a temporary one. Such files are never uploaded, even if the configuration does not ignore
    /// them.
    package static func isTemporary(_ name: ArraySlice<UInt8>) -> Bool {
        name.count == 20 && name.starts(with: ".outbox-".utf8) && name.suffix(4).elementsEqual(".tmp".utf8)
    }

    /// Whether a name ends like a sidecar's.
    package static func isSidecar(_ name: ArraySlice<UInt8>) -> Bool {
        let suffix = IntakeRules.sidecarSuffix
        return name.count > suffix.count && name.suffix(suffix.count).elementsEqual(suffix)
    }

    /// Returns the file name at the beginning of a sidecar's name.
    package static func subject(of sidecar: [UInt8]) -> [UInt8] { sidecar.dropLast(IntakeRules.sidecarSuffix.count) }

    /// Whether the sidecar may belong to a file whose name was shortened.
    package static func isShortened(_ sidecar: [UInt8]) -> Bool {
        let tail = subject(of: sidecar).suffix(9)
        return tail.first == UInt8(ascii: "~")
            && tail.dropFirst().allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Whether a file name is too long to fit into a sidecar's name.
    package static func isLong(_ name: [UInt8]) -> Bool { name.count + IntakeRules.sidecarSuffix.count > longest }

    /// The first 8 hexadecimal digits of the MD5 of a file name.
    private static func hash(of name: some Collection<UInt8>) -> String {
        MD5Hasher.hash(Array(name)).prefix(4).hexadecimal
    }

    /// Returns the longest beginning that does not end within a UTF-8 character.
    static func head(of name: [UInt8], atMost limit: Int) -> ArraySlice<UInt8> {
        var end = min(limit, name.count)
        while end > 0, end < name.count, name[end] & 0b1100_0000 == 0b1000_0000, limit - end < 4 { end -= 1 }
        return name[..<end]
    }
}

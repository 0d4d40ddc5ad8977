import UploadCore

/// Writes JSON (RFC 8259) with a fixed order of keys. People read sidecars, and an encoder guarantees no order.
package struct JSONText: Sendable {
    /// Layout of the members.
    package enum Layout: Sendable {
        /// Everything on one line.
        case line
        /// One member per line, indented by two spaces. Nested objects stay on their line.
        case members
    }

    package private(set) var bytes: [UInt8] = []
    private let layout: Layout
    private var depth = 0
    private var isFirst = true

    package init(layout: Layout) {
        self.layout = layout
        bytes.reserveCapacity(1024)
    }

    /// Writes an object; `body` writes its members.
    package mutating func object(_ body: (inout JSONText) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        depth += 1
        isFirst = true
        body(&self)
        depth -= 1
        isFirst = false
        if layout == .members && depth == 0 { bytes.append(UInt8(ascii: "\n")) }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func name(_ name: String) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        if layout == .members && depth == 1 {
            bytes.append(contentsOf: "\n  ".utf8)
        } else if !isFirst && layout == .members {
            bytes.append(UInt8(ascii: " "))
        }
        isFirst = false
        string(name)
        bytes.append(UInt8(ascii: ":"))
        if layout == .members { bytes.append(UInt8(ascii: " ")) }
    }

    package mutating func member(_ name: String, _ value: String?) {
        self.name(name)
        if let value { string(value) } else { raw("null") }
    }

    package mutating func member(_ name: String, _ value: (some BinaryInteger)?) {
        self.name(name)
        raw(value.map { String($0) } ?? "null")
    }

    package mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        raw(value ? "true" : "false")
    }

    /// Writes a number with a fraction. Writes `null` for values that JSON cannot express.
    package mutating func member(_ name: String, _ value: Double?) {
        self.name(name)
        guard let value, value.isFinite else { return raw("null") }
        raw(value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)")
    }

    package mutating func nested(_ name: String, _ body: (inout JSONText) -> Void) {
        self.name(name)
        object(body)
    }

    package mutating func null(_ name: String) {
        self.name(name)
        raw("null")
    }

    /// Writes a list of objects. In layout `members`, each object has its own line.
    package mutating func objects<Element>(
        _ name: String, _ elements: [Element], _ body: (Element, inout JSONText) -> Void
    ) {
        self.name(name)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            if layout == .members { raw("\n    ") }
            object { body(element, &$0) }
        }
        if layout == .members && !elements.isEmpty { raw("\n  ") }
        bytes.append(UInt8(ascii: "]"))
        isFirst = false
    }

    /// Writes a list of strings on the member's line.
    package mutating func strings(_ name: String, _ values: [String]) {
        self.name(name)
        bytes.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { raw(layout == .members ? ", " : ",") }
            string(value)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func string(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        let isPlain = text.utf8.allSatisfy { byte in
            byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") && byte != 0x7F
        }
        if isPlain { return raw(text) }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): raw("\\\"")
            case UInt8(ascii: "\\"): raw("\\\\")
            case UInt8(ascii: "\n"): raw("\\n")
            case UInt8(ascii: "\r"): raw("\\r")
            case UInt8(ascii: "\t"): raw("\\t")
            case 0..<0x20, 0x7F:
                raw("\\u" + UInt16(byte).hexadecimal)
            default: bytes.append(byte)
            }
        }
    }
}

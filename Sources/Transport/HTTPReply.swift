/// The final reply to a request; interim ones (1xx) are skipped.
public struct HTTPReply: Equatable, Sendable {
    /// Status code, 200 to 999.
    public var status: Int
    /// Header fields.
    public var headers: HTTPFields
    /// The body as it came, never decompressed.
    public var body: [UInt8]

    /// A reply.
    public init(status: Int, headers: HTTPFields = HTTPFields(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Header fields in the order they came; names are compared without regard to case (RFC 9110, section 5.1).
public struct HTTPFields: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    /// One line of a header.
    public struct Field: Equatable, Sendable {
        /// Name as it came.
        public var name: String
        /// Value without the white space around it; bytes that are not UTF-8 are replaced by U+FFFD.
        public var value: String

        /// A field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// All fields.
    public private(set) var fields: [Field] = []

    /// No fields.
    public init() {}

    /// Fields in the order of the literal.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// Value of the first field of that name; nil where there is none.
    public subscript(name: String) -> String? {
        fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value
    }

    /// Values of all fields of that name.
    public func values(of name: String) -> [String] {
        fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }

    /// Adds a field after the others.
    public mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }
}

extension String {
    func equalsIgnoringASCIICase(_ other: String) -> Bool {
        utf8.elementsEqual(other.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
    }
}

extension UInt8 {
    fileprivate var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

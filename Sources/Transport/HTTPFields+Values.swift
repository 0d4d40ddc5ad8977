public import HTTPTypes

extension HTTPFields {
    /// Returns the value of the first field of that name; nil if there is none.
    ///
    /// `HTTPFields` itself joins fields of one name into a list. A reply that repeats `Location` or `Date` means no list.
    public func first(_ name: HTTPField.Name) -> String? { self[fields: name].first?.value }

    /// Adds a field whose name or value comes from outside.
    ///
    /// - Throws: ``TransportError/badRequest(_:)`` if the name is no token, or if the value holds a control character or
    ///   begins or ends with white space. `HTTPField` would replace what is not allowed, and another value would be sent
    ///   than was meant. The message never quotes the value.
    public mutating func add(_ name: String, _ value: String) throws(TransportError) {
        guard let name = HTTPField.Name(name) else { throw .badRequest("a header field's name is not an HTTP token") }
        guard HTTPField.isValidValue(value) else {
            throw .badRequest("the value of the header field \(name) holds what no header field may")
        }
        append(HTTPField(name: name, value: value))
    }
}

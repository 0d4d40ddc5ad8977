public import HTTPTypes

extension HTTPFields {
    /// Returns the value of the first field with a name; nil if there is none.
    ///
    /// `HTTPFields` itself joins fields of one name into a list, but repeated `Location` or `Date` fields form no
    /// list.
    public func first(_ name: HTTPField.Name) -> String? { self[fields: name].first?.value }

    /// Adds a field with a name or value from outside.
    ///
    /// - Throws: ``TransportError/badRequest(_:)`` if the name is no token, or if the value holds a control character
    ///   or begins or ends with white space. `HTTPField` would replace illegal characters and so change the value.
    ///   The error's message never quotes the value.
    public mutating func add(_ name: String, _ value: String) throws(TransportError) {
        guard let name = HTTPField.Name(name) else { throw .badRequest("a header field's name is not an HTTP token") }
        guard HTTPField.isValidValue(value) else {
            throw .badRequest("the value of the header field \(name) holds what no header field may")
        }
        append(HTTPField(name: name, value: value))
    }
}

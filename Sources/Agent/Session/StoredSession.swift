/// The session that `login` stores.
package struct StoredSession: Equatable, Sendable {
    /// The bearer token.
    package let token: String
    /// The user's name, if the user gave one.
    package let user: String?

    private static let longestUser = 255

    /// Checks token and name.
    ///
    /// - Throws: `SessionError.notAToken` or `.notAUser`.
    package init(token: String, user: String?) throws(SessionError) {
        self.token = try BearerToken.parse(token)
        self.user = try user.map { name throws(SessionError) in try Self.checked(user: name) }
    }

    /// Checks a user's name.
    ///
    /// - Throws: `SessionError.notAUser`.
    @discardableResult
    package static func checked(user: String) throws(SessionError) -> String {
        guard !user.isEmpty else { throw .notAUser("it is empty; leave it out instead") }
        guard user.unicodeScalars.contains(where: Self.isVisible) else {
            throw .notAUser("it is blank; give a name, or leave it out")
        }
        guard user.utf8.count <= longestUser else { throw .notAUser("it is longer than \(longestUser) bytes") }
        guard !user.unicodeScalars.contains(where: Self.isControl) else {
            throw .notAUser("it holds control characters or line breaks")
        }
        return user
    }

    private static func isVisible(_ character: Unicode.Scalar) -> Bool {
        switch character.properties.generalCategory {
        case .spaceSeparator, .lineSeparator, .paragraphSeparator, .control, .format, .unassigned: false
        default: !character.properties.isDefaultIgnorableCodePoint
        }
    }

    private static func isControl(_ character: Unicode.Scalar) -> Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(character.properties.generalCategory)
    }
}

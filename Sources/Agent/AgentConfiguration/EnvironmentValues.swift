internal import TOMLKit

extension SettingForm {
    /// Returns the TOML value for the text of an environment variable.
    ///
    /// A list is a TOML array (`["*.tmp", "a b"]`), or elements between separators.
    func value(of text: String) throws(Objection) -> SettingValue {
        switch self {
        case .string:
            return .string(text)
        case .integerOr:
            // The type of the key refuses other words than its own.
            return Int(text).map(SettingValue.integer) ?? .string(text)
        case .integer:
            guard let number = Int(text) else { throw Objection("must be an integer, is \(text.shortened.quoted)") }
            return .integer(number)
        case .number:
            guard let number = Double(text) else { throw Objection("must be a number, is \(text.shortened.quoted)") }
            return .number(number)
        case .boolean:
            guard text == "true" || text == "false" else {
                throw Objection("must be true or false, is \(text.shortened.quoted)")
            }
            return .boolean(text == "true")
        case .list(let separators):
            if let array = Self.tomlArray(text) { return array }
            return .list(text.split { separators.contains($0) }.map { .string(String($0)) })
        }
    }

    /// Returns a form that also accepts a word.
    func accepting(_ word: String) -> SettingForm {
        if case .integer = self { .integerOr(word) } else { self }
    }

    /// Returns `nil` unless the text is a TOML array. A pattern such as `[ab]*` is not an array.
    private static func tomlArray(_ text: String) -> SettingValue? {
        guard text.first == "[", text.last == "]", case let document = "list = " + text,
            ConfigurationDocument.objection(to: Array(document.utf8)) == nil,
            let value = try? TOMLTable(string: document)["list"]
        else { return nil }
        return SettingValue(value)
    }
}

/// One mistake in the configuration, in one line: where, which key, why, what to do.
///
/// Every such error ends the program with exit status 78.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of mistakes.
    enum Kind: Sendable {
        /// A named file does not exist, can't be read, or is too large.
        case file
        /// The file is not TOML.
        case syntax
        /// The key or table does not exist.
        case unknownKey
        /// The value has the wrong type, is out of range, or contradicts another value.
        case badValue
    }

    /// The kind of mistake.
    let kind: Kind
    /// Where the value comes from.
    package let origin: SettingOrigin
    /// The full name of the key (`upload.files_in_flight`), if the error concerns a key.
    let key: String?
    /// Why, and what to do.
    package let reason: String

    /// The whole message, without a newline.
    package var description: String {
        [origin == .default ? nil : origin.description, key, reason].compactMap { $0 }.joined(separator: ": ")
    }
}

/// All mistakes in the configuration, in the order of the file's lines.
package struct ConfigurationErrors: Error, Sendable, Equatable, CustomStringConvertible {
    /// The error of the first line.
    package let first: ConfigurationError
    /// The other errors.
    let others: [ConfigurationError]

    /// All errors in order.
    package var all: [ConfigurationError] { [first] + others }

    /// The first error. `config check` prints the others as well.
    package var description: String { first.description }

    init(_ first: ConfigurationError, others: [ConfigurationError] = []) {
        self.first = first
        self.others = others
    }

    /// Sorts the errors; `nil` if there are none.
    init?(_ errors: [ConfigurationError]) {
        let sorted = errors.enumerated().sorted {
            ($0.element.origin.line ?? .max, $0.offset) < ($1.element.origin.line ?? .max, $1.offset)
        }
        guard let first = sorted.first?.element else { return nil }
        self.init(first, others: sorted.dropFirst().map(\.element))
    }
}

/// The origin of a key's value.
package enum SettingOrigin: Sendable, Hashable, CustomStringConvertible {
    /// Built in.
    case `default`
    /// A line of a file, counted from 1; `nil` if no line is known.
    case file(String, line: Int?)
    /// An environment variable.
    case environment(String)

    /// `default`, `FILE:LINE` or `environment VARIABLE`.
    package var description: String {
        switch self {
        case .default: "default"
        case .file(let name, nil): name
        case .file(let name, let line?): "\(name):\(line)"
        case .environment(let variable): "environment \(variable)"
        }
    }

    /// The line of a file, counted from 1; `nil` if no line is known.
    package var line: Int? {
        if case .file(_, let line) = self { line } else { nil }
    }
}

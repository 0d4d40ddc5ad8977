package import AgentConfiguration
import Glibc
import LinuxSystem
package import Remotes

/// Finds the access keys of the protocol `s3`. The first of these places that the configuration or the environment names
/// must have them:
///
/// 1. `remote.access_key_file` and `remote.secret_key_file`;
/// 2. `remote.profile` or `remote.credentials_file`: a profile of a shared credentials file;
/// 3. `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, with `AWS_SESSION_TOKEN` if the keys are temporary;
/// 4. the profile `AWS_PROFILE`, or `default`, of `AWS_SHARED_CREDENTIALS_FILE`, or `~/.aws/credentials`.
///
/// Keys of containers and instances (metadata services) are not searched.
package struct AccessKeySearch: Sendable {
    private enum Place {
        case files(key: String, secret: String)
        case environment(AccessKeys)
        case profile(String, file: String)
        case nowhere(String)
    }

    /// Maximum size of a file with keys in bytes. The agent reads the file each second while it sends requests.
    static let longestFile = 64 << 10

    private let place: Place

    /// Prepares a search.
    ///
    /// - Parameters:
    ///   - remote: the configuration, with the protocol `s3`.
    ///   - environment: the environment variables, `HOME` among them.
    package init(_ remote: Configuration.Remote, environment: [String: String]) {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

        let home = variable("HOME")
        let file =
            remote.credentialsFile ?? variable("AWS_SHARED_CREDENTIALS_FILE") ?? home.map { "\($0)/.aws/credentials" }
        let profile = remote.profile ?? variable("AWS_PROFILE") ?? "default"
        if let key = remote.accessKeyFile, let secret = remote.secretKeyFile {
            place = .files(key: key, secret: secret)
        } else if remote.profile == nil, remote.credentialsFile == nil, let id = variable("AWS_ACCESS_KEY_ID"),
            let secret = variable("AWS_SECRET_ACCESS_KEY")
        {
            place = .environment(AccessKeys(id: id, secret: secret, sessionToken: variable("AWS_SESSION_TOKEN")))
        } else if let file {
            place = .profile(profile, file: file)
        } else {
            place = .nowhere("neither AWS_ACCESS_KEY_ID nor HOME is set")
        }
    }

    /// Where the keys come from, for people.
    package var source: String {
        switch place {
        case .files(let key, _): "access_key_file \(key)"
        case .environment: "AWS_ACCESS_KEY_ID"
        case .profile(let name, let file): "profile \"\(name)\" in \(file)"
        case .nowhere: "nowhere"
        }
    }

    /// Reads the keys. Blocks on the disk.
    ///
    /// - Throws: `AccessKeyProblem`.
    package func find() throws(AccessKeyProblem) -> AccessKeys {
        switch place {
        case .files(let key, let secret):
            return AccessKeys(id: try Self.line(of: key), secret: try Self.line(of: secret))
        case .environment(let keys): return try Self.checked(keys, source)
        case .profile(let name, let file):
            let text = try Self.text(of: file)
            guard let profile = SharedCredentials(text)[name] else {
                throw AccessKeyProblem("\(file) has no profile \"\(name)\"; add it, or set remote.profile")
            }
            guard let id = profile["aws_access_key_id"], let secret = profile["aws_secret_access_key"] else {
                throw AccessKeyProblem(
                    "profile \"\(name)\" in \(file) lacks aws_access_key_id or aws_secret_access_key; the agent asks no "
                        + "other service for keys")
            }
            return try Self.checked(
                AccessKeys(id: id, secret: secret, sessionToken: profile["aws_session_token"]), source)
        case .nowhere(let why): throw AccessKeyProblem("\(why); set remote.access_key_file and remote.secret_key_file")
        }
    }

    private static func line(of file: String) throws(AccessKeyProblem) -> String {
        let line = try text(of: file).prefix { !$0.isNewline }.trimmed
        guard isLegal(line) else { throw AccessKeyProblem("the first line of \(file) is no key") }
        return line
    }

    private static func checked(_ keys: AccessKeys, _ source: String) throws(AccessKeyProblem) -> AccessKeys {
        guard [keys.id, keys.secret, keys.sessionToken ?? "-"].allSatisfy(isLegal) else {
            throw AccessKeyProblem("\(source) holds characters that no key has")
        }
        return keys
    }

    /// Whether a text may go into a header field: visible ASCII characters.
    private static func isLegal(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static func text(of path: String) throws(AccessKeyProblem) -> String {
        do {
            let status = try FileStatus(path: path)
            guard status.kind == .regular else { throw AccessKeyProblem("\(path) is not a regular file") }
            let file = try SharedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK)
            guard status.size <= longestFile else { throw AccessKeyProblem("\(path) is larger than 64 KiB") }
            var bytes = [UInt8](repeating: 0, count: Int(status.size))
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            return String(decoding: bytes.prefix(count), as: UTF8.self)
        } catch let problem as AccessKeyProblem {
            throw problem
        } catch {
            throw AccessKeyProblem("\(path) can't be read: \(error)")
        }
    }
}

/// Why there are no access keys, and what to do. Never contains a key.
package struct AccessKeyProblem: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// A shared credentials file: sections in brackets, a profile each, of lines `name = value`. Lines that begin with `#` or
/// `;` are comments.
struct SharedCredentials {
    private var profiles: [String: [String: String]] = [:]

    init(_ text: String) {
        var profile: String?
        for line in text.split(whereSeparator: \.isNewline).map(\.trimmed) {
            if line.hasPrefix("#") || line.hasPrefix(";") { continue }
            if line.hasPrefix("["), line.hasSuffix("]") {
                let name = line.dropFirst().dropLast().trimmed
                profile = name
                profiles[name, default: [:]] = profiles[name] ?? [:]
            } else if let profile, let sign = line.firstIndex(of: "=") {
                let name = line[..<sign].trimmed.lowercased()
                profiles[profile]?[name] = line[line.index(after: sign)...].trimmed
            }
        }
    }

    subscript(name: String) -> [String: String]? { profiles[name] }
}

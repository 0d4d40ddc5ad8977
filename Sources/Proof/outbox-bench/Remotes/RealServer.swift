import FoundationEssentials
import Glibc

/// A server of somebody else's that `scripts/servers/run.py` started, with one protocol.
struct RealServer: Decodable {
    let name: String
    /// `s3` or `tus`.
    let `protocol`: String
    let version: String
    /// Keys of `agent.toml`, by their full names.
    let settings: [String: String]
    /// The environment variables with the credentials.
    let environment: [String: String]

    /// `remote.url`.
    var url: String { settings["remote.url"] ?? "" }
    var title: String { "\(name) \(version)" }

    /// Returns the servers that run.
    ///
    /// - Throws: `Failure` if none were started.
    static func running() throws -> [RealServer] {
        guard let directory = getenv("OUTBOX_TEST_SERVERS").map({ String(cString: $0) }) else {
            throw Failure("no servers are running; start the benchmark with make bench-servers")
        }
        let path = "\(directory)/servers.json"
        guard let text = TextFile.read(path) else { throw Failure.system(path) }
        return try JSONDecoder().decode([RealServer].self, from: Data(text.utf8))
    }

    /// Returns the `[remote]` table for uploads to a place of their own, so that no contender finds the contents of
    /// another.
    func table(place: String) -> String {
        var values = settings
        if self.protocol == "s3" { values["remote.prefix"] = "\(place)/" }
        return values.sorted { $0.key < $1.key }
            .map { "\($0.key.dropFirst("remote.".count)) = \"\($0.value)\"" }.joined(separator: "\n")
    }
}

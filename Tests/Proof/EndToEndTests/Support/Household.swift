import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// A server with the users Anna and Ben, and the one agent that they share.
struct Household {
    let server: FaultServer
    let agent: Agent

    /// - Parameter uploadDelay: The delay of each fragment, which keeps uploads under way while a test acts.
    init(uploadDelay: Duration = .zero, _ settings: Settings = [:]) throws {
        server = try FaultServer(uploadDelay: uploadDelay, tokens: ["for-anna": "anna", "for-ben": "ben"])
        agent = try Agent(remote: server.url, settings)
    }

    /// Returns the numbers of a content's fragments received from a user.
    func arrived(_ key: String, from user: String) -> Set<Int> {
        Set(server.store.arrivalsByUser[user]?[key]?.keys.map { $0 } ?? [])
    }

    /// Waits until the server has received this many fragments of a content from a user.
    func hasSent(_ count: Int, of key: String, from user: String) async throws {
        try await Poll.until("\(count) fragments from \(user)", lastState: { agent.log }) {
            arrived(key, from: user).count >= count
        }
    }

    /// Returns the files named in requests with a user's token.
    func named(by user: String) -> [SectionStore.File] {
        server.requests(with: Agent.token(of: user)).flatMap(\.files)
    }

    /// Checks that no file was sent with the other user's token, by file names that begin with the owner's name.
    func expectDisjoint(_ users: [String] = ["anna", "ben"], sourceLocation: SourceLocation = #_sourceLocation) {
        for user in users {
            let foreign = Set(named(by: user).map(\.name).filter { !$0.hasPrefix(user) })
            #expect(foreign.isEmpty, "with \(user)'s token", sourceLocation: sourceLocation)
        }
    }

    /// Checks that no request came without a token.
    func expectNothingByNobody(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(server.requests(with: nil).isEmpty, sourceLocation: sourceLocation)
    }

    /// Checks the finished contents of each user, and that there were no violations of the protocol.
    func expectFinished(_ keys: [String: [String]], sourceLocation: SourceLocation = #_sourceLocation) {
        let store = server.store
        for (user, keys) in keys {
            #expect(store.finishedByUser[user, default: []].sorted() == keys.sorted(), sourceLocation: sourceLocation)
        }
        #expect(store.mixtures == [], sourceLocation: sourceLocation)
        #expect(store.violations == [], sourceLocation: sourceLocation)
    }
}

// Several users of one agent.
extension Agent {
    static func token(of user: String) -> String { "for-\(user)" }

    /// Writes a token to a file, for `login --token-file`.
    func tokenFile(of user: String) throws -> String {
        let file = directory.path("token-of-\(user)")
        try Files.write(Array("\(Self.token(of: user))\n".utf8), to: file)
        return file
    }

    func login(_ user: String) async throws {
        let output = try await command("login", "--user", user, "--token-file", tokenFile(of: user))
        guard output.code == 0 else { throw Surprise("login of \(user): \(output)\n\(log)") }
    }

    func logout() async throws {
        let output = try await command("logout")
        guard output.code == 0 else { throw Surprise("logout: \(output)\n\(log)") }
    }

    /// Waits until a path is parked for its owner, who is not signed in.
    @discardableResult
    func parked(_ name: String, as owner: String) async throws -> Sidecar {
        try await reached(name, .signedOut) {
            $0.error?.code == "other_account" && $0.error?.retryable == true
                && $0.error?.message.contains(owner) == true
        }
    }

    /// Waits until a path waits because nobody is signed in.
    @discardableResult
    func keptSignedOut(_ name: String) async throws -> Sidecar {
        try await reached(name, .signedOut) { $0.error?.code == "signed_out" }
    }

    /// Returns the state and the error code in the sidecar of a source.
    func post(_ directory: String) -> (state: String, code: String?)? {
        guard let data = FileManager.default.contents(atPath: path("\(directory)/source.outbox.json")),
            let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
            let state = object["state"] as? String
        else { return nil }
        return (state, (object["error"] as? [String: Any])?["code"] as? String)
    }

    /// Waits until a source reaches a state, with this error code or without an error.
    func post(_ directory: String, is state: String, code: String? = nil) async throws {
        try await Poll.until(
            "\(directory) to be \(state)", lastState: { "\(String(describing: post(directory)))\n\(log)" }
        ) {
            post(directory).map { $0.state == state && $0.code == code } ?? false
        }
    }
}

import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// A server that knows Anna and Ben, and the one agent that they share.
struct Household {
    let server: FaultServer
    let agent: Agent

    /// - Parameter uploadDelay: how long a fragment takes, so that uploads are under way when something happens.
    init(uploadDelay: Duration = .zero, _ settings: Settings = [:]) throws {
        server = try FaultServer(uploadDelay: uploadDelay, tokens: ["for-anna": "anna", "for-ben": "ben"])
        agent = try Agent(remote: server.url, settings)
    }

    /// The numbers of a content's fragments that came from a user.
    func arrived(_ key: String, from user: String) -> Set<Int> {
        Set(server.store.arrivalsByUser[user]?[key]?.keys.map { $0 } ?? [])
    }

    /// Waits until so many fragments of a content came from a user.
    func hasSent(_ count: Int, of key: String, from user: String) async throws {
        try await Poll.until("\(count) fragments from \(user)", lastState: { agent.log }) {
            arrived(key, from: user).count >= count
        }
    }

    /// The files that requests with a user's token were about.
    func named(by user: String) -> [SectionStore.File] {
        server.requests(with: Agent.token(of: user)).flatMap(\.files)
    }

    /// Where the names of files begin with their owner's: nothing of one was ever sent with the other's token.
    func expectDisjoint(_ users: [String] = ["anna", "ben"], sourceLocation: SourceLocation = #_sourceLocation) {
        for user in users {
            let foreign = Set(named(by: user).map(\.name).filter { !$0.hasPrefix(user) })
            #expect(foreign.isEmpty, "with \(user)'s token", sourceLocation: sourceLocation)
        }
    }

    /// Nothing was ever sent without a token.
    func expectNothingByNobody(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(server.requests(with: nil).isEmpty, sourceLocation: sourceLocation)
    }

    /// What each user has on the server in the end, and that the protocol was kept to.
    func expectFinished(_ keys: [String: [String]], sourceLocation: SourceLocation = #_sourceLocation) {
        let store = server.store
        for (user, keys) in keys {
            #expect(store.finishedByUser[user, default: []].sorted() == keys.sorted(), sourceLocation: sourceLocation)
        }
        #expect(store.mixtures == [], sourceLocation: sourceLocation)
        #expect(store.violations == [], sourceLocation: sourceLocation)
    }
}

// Several people at one agent.
extension Agent {
    static func token(of user: String) -> String { "for-\(user)" }

    /// Keeps a token in a file, for `login --token-file`.
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

    /// Waits until a path is kept for its owner, who is not signed in.
    @discardableResult
    func parked(_ name: String, as owner: String) async throws -> Sidecar {
        try await reached(name, .signedOut) {
            $0.error?.code == "other_account" && $0.error?.retryable == true
                && $0.error?.message.contains(owner) == true
        }
    }

    /// Waits until a path is kept since nobody is signed in.
    @discardableResult
    func keptSignedOut(_ name: String) async throws -> Sidecar {
        try await reached(name, .signedOut) { $0.error?.code == "signed_out" }
    }

    /// What the sidecar of a source says of its state, and the code of its error.
    func post(_ directory: String) -> (state: String, code: String?)? {
        guard let data = FileManager.default.contents(atPath: path("\(directory)/source.outbox.json")),
            let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
            let state = object["state"] as? String
        else { return nil }
        return (state, (object["error"] as? [String: Any])?["code"] as? String)
    }

    /// Waits until a source is in a state, with an error of that code or none.
    func post(_ directory: String, is state: String, code: String? = nil) async throws {
        try await Poll.until(
            "\(directory) to be \(state)", lastState: { "\(String(describing: post(directory)))\n\(log)" }
        ) {
            post(directory).map { $0.state == state && $0.code == code } ?? false
        }
    }
}

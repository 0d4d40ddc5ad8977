import Foundation
import Glibc
import Synchronization
import TestSupport

/// An in-memory fileSection server (contract 4) that checks all requests and misbehaves on demand.
package final class FaultServer: Sendable {
    package enum Endpoint: String, CaseIterable, CustomStringConvertible {
        case preLoad, upload, isFinish, delete, commit, portrait, other

        init(target: String) {
            let name = target.split(separator: "/").last?.split(separator: ".").first.map(String.init) ?? ""
            switch target {
            case "/user/portrait.do": self = .portrait
            case "/source/commit.do": self = .commit
            default: self = target.hasPrefix("/fileSection/") ? Endpoint(rawValue: name) ?? .other : .other
            }
        }

        package var description: String { rawValue }
    }

    /// A fault that replaces the correct answer to a request.
    package enum Fault: Equatable {
        /// An HTTP status with the message `server says <status>`; the request has no effect.
        case status(Int, retryAfter: String? = nil)
        /// S3: an HTTP status with this code; the request has no effect. Other servers: like `status`.
        case error(Int, code: String)
        /// HTTP 200 with this code in the body; the request has no effect.
        case bodyCode(Int)
        /// HTTP 200 with bytes that are not JSON.
        case garbage
        /// HTTP 200 with the page of a captive portal.
        case html
        /// An HTTP status with another web server's page, like the reply to plain HTTP on a TLS port.
        case page(Int)
        /// A JSON reply of over 1 MiB.
        case tooLong
        /// 302 to another server.
        case redirect(String)
        /// The server resets the connection before it answers.
        case reset
        /// The request takes effect, then the server closes the connection without an answer.
        case lostReply
        /// The answer stops after the first bytes.
        case truncated
        /// The server never answers.
        case hang
        /// isFinish: the server is still assembling.
        case assembling
        /// isFinish: the server loses the fragments of the files with these names and reports their ids as failed.
        case assemblyFailedFor(Set<String>)
        /// isFinish: the server reports the file as assembled, but with another MD5.
        case otherDigest
        /// isFinish: a bare 404 for several ids; a request for a single id works.
        case notFoundForSeveral
    }

    /// Called for each request, with its number within its endpoint, from 1.
    package typealias Hook = @Sendable (Endpoint, Int) -> Fault?

    struct Shared {
        var store = SectionStore()
        var records: [Record] = []
        var counts: [Endpoint: Int] = [:]
        var hook: Hook
        var refusal: Refusal?
        /// The delay of the answer to each fragment.
        var uploadDelay = Duration.zero
        /// How many different fragments of each content are answered; see `hold`.
        var answeredFragments = Int.max
        /// The users by bearer token; nil: everybody may send requests, without a name.
        var users: [String: String]?

        /// Returns the user of a request, or nil if the token is unknown.
        func user(_ token: String?) -> String? {
            guard let users else { return "" }
            return token.flatMap { users[$0] }
        }
    }

    /// Separate from the server, because the listener's threads retain it.
    final class Desk: Sendable {
        let shared: Mutex<Shared>
        init(_ shared: consuming sending Shared) { self.shared = Mutex(shared) }

        /// The delay of the answer to a fragment, in microseconds.
        var uploadPause: UInt32 {
            let delay = shared.withLock { $0.uploadDelay }
            return UInt32(delay / .microseconds(1))
        }

        /// Waits while `hold` withholds the reply to a fragment.
        ///
        /// - Parameter number: the number of the file's different fragments that have arrived.
        func waitWhileHeld(_ number: Int) {
            while shared.withLock({ number > $0.answeredFragments }) { usleep(2000) }
        }
    }

    private let desk: Desk
    private let listener: ScriptedServer

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - port: The port; 0 for any free port.
    ///   - uploadDelay: The delay of the answer to each fragment, which gives a test time to interfere.
    ///   - keepsContent: If false, the server counts and discards fragments, so that large files cost no memory.
    ///   - tellsExisting: Whether preLoad names content that is already finished.
    ///   - takesGroups: Whether a request may bring several fragments.
    ///   - token: The only accepted bearer token; other requests get 401.
    ///   - tokens: The users by accepted bearer token. Each user sees only own uploads.
    ///   - faults: Chooses the faults.
    package init(
        port: UInt16 = 0, uploadDelay: Duration = .zero, keepsContent: Bool = true, tellsExisting: Bool = false,
        takesGroups: Bool = false, token: String? = nil, tokens: [String: String]? = nil,
        faults: @escaping Hook = { _, _ in nil }
    ) throws {
        var store = SectionStore()
        store.keepsContent = keepsContent
        store.tellsExisting = tellsExisting
        store.takesGroups = takesGroups
        let users = tokens ?? token.map { [$0: ""] }
        let desk = Desk(Shared(store: store, hook: faults, uploadDelay: uploadDelay, users: users))
        self.desk = desk
        listener = try ScriptedServer(port: port, longestKeptBody: keepsContent ? .max : 65_536) { request in
            let (reply, fragments) = desk.answer(request)
            if Endpoint(target: request.target) == .upload {
                usleep(desk.uploadPause)
                desk.waitWhileHeld(fragments)
            }
            return reply
        }
    }

    deinit {
        letGo()
        listener.stop()
    }

    // MARK: Control by tests

    /// A copy of the server's state.
    package var store: SectionStore { desk.shared.withLock { $0.store } }
    package var records: [Record] { desk.shared.withLock { $0.records } }
    package var finished: [String] { store.finished }
    package var url: String { listener.url }
    package var port: UInt16 { listener.port }

    /// The number of complete fragments that arrived, repetitions included.
    package var arrivedFragments: Int { desk.shared.withLock { $0.store.arrivedFragments } }
    package func count(_ endpoint: Endpoint) -> Int { desk.shared.withLock { $0.counts[endpoint] ?? 0 } }
    package func change(_ body: @Sendable (inout SectionStore) -> Void) { desk.shared.withLock { body(&$0.store) } }
    /// Changes the delay of the answer to each fragment. A test can slow down an upload while it interferes, then let
    /// the rest continue at full speed.
    package func setUploadDelay(_ delay: Duration) { desk.shared.withLock { $0.uploadDelay = delay } }
    /// Withholds the replies to fragments of a content once more than this many different ones have arrived from its
    /// user, those of earlier uploads included, until `letGo` or a higher number. So an upload is under way for as long as
    /// a test needs it.
    package func hold(after fragments: Int) { desk.shared.withLock { $0.answeredFragments = fragments } }
    /// Answers all fragments, also those whose replies `hold` withheld.
    package func letGo() { hold(after: .max) }
    /// Refuses one content from now on.
    package func refuse(_ refusal: Refusal?) { desk.shared.withLock { $0.refusal = refusal } }
    package func setFaults(_ hook: @escaping Hook) { desk.shared.withLock { $0.hook = hook } }
    /// Rejects requests without this bearer token with 401 from now on.
    package func require(token: String?) { require(tokens: token.map { [$0: ""] }) }
    /// Rejects requests without one of these bearer tokens with 401 from now on. The values are the users' names.
    package func require(tokens: [String: String]?) { desk.shared.withLock { $0.users = tokens } }
}

// MARK: - Answers

extension FaultServer.Desk {
    typealias Endpoint = FaultServer.Endpoint
    typealias Fault = FaultServer.Fault
    typealias Reply = ScriptedServer.Reply

    /// Executes a request, or the fault that the hook chooses.
    ///
    /// - Returns: the reply and, for an upload, how many different fragments of its file have arrived.
    func answer(_ request: ScriptedServer.Request) -> (reply: Reply, fragments: Int) {
        let endpoint = Endpoint(target: request.target)
        let body = Data(request.body)
        return shared.withLock { shared in
            let number = (shared.counts[endpoint] ?? 0) + 1
            shared.counts[endpoint] = number
            var fault = shared.hook(endpoint, number)
            let authorization = request.header("Authorization")
            let user = shared.user(FaultServer.token(authorization))
            if user == nil { fault = .status(401) }
            let kept = endpoint == .upload ? Data() : body
            let files = shared.store.files(in: kept, fileBlock: request.header("file_block"))
            fault = fault ?? shared.refusal?.fault(of: endpoint.rawValue, about: files.map(\.md5))
            shared.records.append(
                FaultServer.Record(
                    endpoint: endpoint, fault: fault, at: .now, authorization: authorization, user: user,
                    headerNames: request.headers.map { $0.name.lowercased() }, body: kept, files: files))
            if let fault, let reply = Self.misbehave(fault, body: body, store: &shared.store) { return (reply, 0) }
            let answer = Self.work(endpoint, request, body: body, user: user ?? "", store: &shared.store)
            let reply = Self.reply(status: answer.code, answer)
            let arrivals = shared.store.arrivalsByUser[user ?? ""]
            let fragments = files.compactMap { arrivals?[$0.md5]?.count }.max() ?? 0
            return (fault?.ending(of: reply) ?? reply, fragments)
        }
    }

    private static func work(
        _ endpoint: Endpoint, _ request: ScriptedServer.Request, body: Data, user: String, store: inout SectionStore
    ) -> SectionStore.Answer {
        switch endpoint {
        case .preLoad: return store.preLoad(body, user: user)
        case .upload:
            let block = request.header("file_block")
            guard store.keepsContent else {
                return store.count(fileBlock: block, bodyLength: request.bodyLength, user: user)
            }
            return store.upload(
                fileBlock: block, contentType: request.header("Content-Type"), body: body, user: user)
        case .isFinish: return store.isFinish(body, user: user)
        case .delete: return store.delete(body, user: user)
        case .commit: return store.commit(body, user: user)
        case .portrait: return store.portrait(body, host: request.header("Host") ?? "localhost")
        case .other:
            store.violations.append("a request to somewhere else")
            return SectionStore.Answer(code: 404, message: "no such place")
        }
    }

    /// Returns the reply of a fault, or nil if the request must be executed first.
    private static func misbehave(_ fault: Fault, body: Data, store: inout SectionStore) -> Reply? {
        let common = fault.reply { status, _, fields in
            reply(
                status: status, SectionStore.Answer(code: status, message: "server says \(status)"), headers: fields)
        }
        if let common { return common }
        switch fault {
        case .bodyCode(let code):
            return reply(status: 200, SectionStore.Answer(code: code, message: "server says \(code)"))
        case .assembling: return reply(status: 200, .init(data: ["finishStatus": 2, "failFileIds": ""]))
        case .assemblyFailedFor(let names):
            // Contract 4: an assembled file stays assembled, however often the client asks.
            let ids = SectionStore.identifiers(body).filter { id in
                store.uploads[id]?.finished == false && store.announced[id].map { names.contains($0.name) } == true
            }
            return ids.isEmpty ? nil : Self.assemblyFailed(ids, store: &store)
        case .otherDigest:
            let ids = SectionStore.identifiers(body)
            store.loseBlocks(ids)
            let digests = Dictionary(ids.map { ($0, String(repeating: "0", count: 32)) }) { first, _ in first }
            return reply(status: 200, .init(data: ["finishStatus": 1, "failFileIds": "", "md5": digests]))
        case .notFoundForSeveral:
            guard SectionStore.identifiers(body).count > 1 else { return nil }
            return reply(status: 404, SectionStore.Answer(code: 404, message: "not found"))
        default: return nil
        }
    }

    private static func assemblyFailed(_ ids: [String], store: inout SectionStore) -> Reply {
        store.loseBlocks(ids)
        return reply(status: 200, .init(data: ["finishStatus": 0, "failFileIds": ids.joined(separator: ",")]))
    }

    private static let json = [("Content-Type", "application/json")]

    private static func reply(
        status: Int, _ answer: SectionStore.Answer, headers: [(String, String)] = []
    ) -> Reply {
        let envelope: [String: Any] = ["code": answer.code, "message": answer.message, "data": answer.data]
        let body = (try? JSONSerialization.data(withJSONObject: envelope)) ?? Data()
        return .response(status: status, headers: json + headers, body: Array(body))
    }
}

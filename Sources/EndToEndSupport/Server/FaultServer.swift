import Foundation
import Glibc
import Synchronization
import TestSupport

/// An in-memory fileSection server (contract 4) that checks what it is sent and misbehaves on request.
package final class FaultServer: Sendable {
    package enum Endpoint: String, CaseIterable, CustomStringConvertible {
        case preLoad, upload, isFinish, delete, commit, portrait, other

        package init(target: String) {
            let name = target.split(separator: "/").last?.split(separator: ".").first.map(String.init) ?? ""
            switch target {
            case "/user/portrait.do": self = .portrait
            case "/source/commit.do": self = .commit
            default: self = target.hasPrefix("/fileSection/") ? Endpoint(rawValue: name) ?? .other : .other
            }
        }

        package var description: String { rawValue }
    }

    /// What happens to one request instead of the right answer.
    package enum Fault: Equatable {
        /// An HTTP status with the message `server says <status>`; nothing is done.
        case status(Int, retryAfter: String? = nil)
        /// HTTP 200 whose body carries this code; nothing is done.
        case bodyCode(Int)
        /// HTTP 200 with bytes that are no JSON.
        case garbage
        /// HTTP 200 with the page of a captive portal.
        case html
        /// An HTTP status with the page of another web server, as plain http to a TLS port gets it.
        case page(Int)
        /// A JSON reply of over 1 MiB.
        case tooLong
        /// 302 to another server.
        case redirect(String)
        /// The connection is reset before an answer.
        case reset
        /// The work is done, then the connection closes without an answer.
        case lostReply
        /// The answer stops after the first bytes.
        case truncated
        /// No answer ever.
        case hang
        /// isFinish: still assembling.
        case assembling
        /// isFinish: the fragments are lost and the ids named as failed.
        case assemblyFailed
        /// isFinish: the same for the files with these names alone, whichever others are asked about.
        case assemblyFailedFor(Set<String>)
        /// isFinish: assembled, but to another MD5.
        case otherDigest
        /// isFinish: a bare 404 where several ids are asked for; one alone is answered.
        case notFoundForSeveral
    }

    /// Asked for each request, with its number among those of its endpoint, from 1.
    package typealias Hook = @Sendable (Endpoint, Int) -> Fault?

    struct Shared {
        var store = SectionStore()
        var records: [Record] = []
        var counts: [Endpoint: Int] = [:]
        var hook: Hook
        /// How long the answer to each fragment takes.
        var uploadDelay = Duration.zero
        /// Who may ask, by bearer token; nil: everybody, without a name.
        var users: [String: String]?

        /// Whose request it is; nil where nobody is known by its token.
        func user(_ token: String?) -> String? {
            guard let users else { return "" }
            return token.flatMap { users[$0] }
        }
    }

    /// Apart from the server, because the listener's threads hold it.
    final class Desk: Sendable {
        let shared: Mutex<Shared>
        init(_ shared: consuming sending Shared) { self.shared = Mutex(shared) }

        /// How long the answer to a fragment takes, in microseconds.
        var uploadPause: UInt32 {
            let delay = shared.withLock { $0.uploadDelay }
            return UInt32(delay / .microseconds(1))
        }
    }

    private let desk: Desk
    private let listener: ScriptedServer

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - port: 0 for a free one.
    ///   - uploadDelay: how long the answer to each fragment takes, so that there is a while in which things can
    ///     happen to it.
    ///   - keepsContent: false: fragments are counted and thrown away, so that a file of any size costs no memory.
    ///   - tellsExisting: preLoad names content that is finished already.
    ///   - token: requests without this bearer token are answered with 401.
    ///   - tokens: as `token`, for several users: their names by token. What one has is unknown to the others.
    ///   - faults: what goes wrong.
    package init(
        port: UInt16 = 0, uploadDelay: Duration = .zero, keepsContent: Bool = true, tellsExisting: Bool = false,
        token: String? = nil, tokens: [String: String]? = nil, faults: @escaping Hook = { _, _ in nil }
    ) throws {
        var store = SectionStore()
        store.keepsContent = keepsContent
        store.tellsExisting = tellsExisting
        let users = tokens ?? token.map { [$0: ""] }
        let desk = Desk(Shared(store: store, hook: faults, uploadDelay: uploadDelay, users: users))
        self.desk = desk
        listener = try ScriptedServer(port: port, longestKeptBody: keepsContent ? .max : 65_536) { request in
            let reply = desk.answer(request)
            if Endpoint(target: request.target) == .upload { usleep(desk.uploadPause) }
            return reply
        }
    }

    deinit { listener.stop() }

    // MARK: What tests look at and change

    /// A copy of what the server has in mind.
    package var store: SectionStore { desk.shared.withLock { $0.store } }
    package var records: [Record] { desk.shared.withLock { $0.records } }
    package var finished: [String] { store.finished }
    package var url: String { listener.url }
    package var port: UInt16 { listener.port }

    package func count(_ endpoint: Endpoint) -> Int { desk.shared.withLock { $0.counts[endpoint] ?? 0 } }
    package func change(_ body: @Sendable (inout SectionStore) -> Void) { desk.shared.withLock { body(&$0.store) } }
    /// How long the answer to each fragment takes from now on: what a test does to an upload under way can be sure to
    /// find it so, and need not wait for the rest at that pace.
    package func setUploadDelay(_ delay: Duration) { desk.shared.withLock { $0.uploadDelay = delay } }
    package func setFaults(_ hook: @escaping Hook) { desk.shared.withLock { $0.hook = hook } }
    /// From now on only requests with this bearer token are answered other than with 401.
    package func require(token: String?) { require(tokens: token.map { [$0: ""] }) }
    /// From now on only requests with one of these bearer tokens are answered other than with 401; each is its user's.
    package func require(tokens: [String: String]?) { desk.shared.withLock { $0.users = tokens } }
    package func stop() { listener.stop() }
}

// MARK: - Answers

extension FaultServer.Desk {
    typealias Endpoint = FaultServer.Endpoint
    typealias Fault = FaultServer.Fault
    typealias Reply = ScriptedServer.Reply

    /// Does what one request asks for, or what the hook wants instead.
    func answer(_ request: ScriptedServer.Request) -> Reply {
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
            shared.records.append(
                FaultServer.Record(
                    endpoint: endpoint, fault: fault, at: .now, authorization: authorization, user: user,
                    headerNames: request.headers.map { $0.name.lowercased() }, body: kept,
                    files: shared.store.files(in: kept, fileBlock: request.header("file_block"))))
            if let fault, let reply = Self.misbehave(fault, body: body, store: &shared.store) { return reply }
            let answer = Self.work(endpoint, request, body: body, user: user ?? "", store: &shared.store)
            if fault == .lostReply { return .close }
            let reply = Self.reply(status: answer.code, answer)
            guard fault == .truncated, case .response(let status, _, let bytes) = reply else { return reply }
            return .truncated(status: status, promised: bytes.count, body: Array(bytes.prefix(5)))
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

    /// The reply of a fault; nil where the work is to be done first.
    private static func misbehave(_ fault: Fault, body: Data, store: inout SectionStore) -> Reply? {
        switch fault {
        case .status(let status, let retryAfter):
            let answer = SectionStore.Answer(code: status, message: "server says \(status)")
            return reply(status: status, answer, headers: retryAfter.map { [("Retry-After", $0)] } ?? [])
        case .bodyCode(let code):
            return reply(status: 200, SectionStore.Answer(code: code, message: "server says \(code)"))
        case .garbage: return .response(status: 200, headers: [], body: [0x7B, 0xFF, 0x00, 0x22, 0x7D])
        case .html:
            let page = "<!DOCTYPE html><html><body>Please sign in to this network</body></html>"
            return .response(status: 200, headers: [("Content-Type", "text/html")], body: Array(page.utf8))
        case .page(let status):
            let page = "<html>\r\n<head><title>\(status) another server's page</title></head>\r\n</html>\r\n"
            return .response(status: status, headers: [("Content-Type", "text/html")], body: Array(page.utf8))
        case .tooLong:
            let text = "{\"code\":200,\"message\":\"" + String(repeating: "x", count: 1_100_000) + "\",\"data\":{}}"
            return .response(status: 200, headers: json, body: Array(text.utf8))
        case .redirect(let place): return .response(status: 302, headers: [("Location", place)], body: [])
        case .reset: return .reset
        case .hang: return .hang
        case .assembling: return reply(status: 200, .init(data: ["finishStatus": 2, "failFileIds": ""]))
        case .assemblyFailed:
            return Self.assemblyFailed(SectionStore.identifiers(body), store: &store)
        case .assemblyFailedFor(let names):
            // Contract 4: what was assembled once stays so, however often it is asked about.
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
        case .lostReply, .truncated: return nil
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

import Foundation
import Remotes
import HTTPTypes
import Synchronization
import Transport
import UploadCore

/// A fileSection server in memory. Computes no MD5: `init` gets the bytes of each key.
final class FakeSectionServer: SourceConformanceServer {
    private struct Stored {
        var md5: String
        var size: Int
        var blocks: [Int: [UInt8]] = [:]
    }

    private struct State {
        var contents: [String: [UInt8]]
        var open: [String: Stored] = [:]
        /// MD5 of each assembled content, by id.
        var finished: [String: String] = [:]
        /// The number of each post, by source and revision.
        var posts: [String: Int] = [:]
        /// The files of each post.
        var lists: [String: [String]] = [:]
        var lastID = 42
        var losesReply = false
        /// Whether the connection breaks before the server has the next fragment.
        var cutsFragment = false
        var isDown = false
        /// The only accepted token.
        var token = "first"
        /// Replies that come in place of the next ones.
        var planned: [HTTPReply] = []
    }

    /// The state, shared with the transport's script.
    private final class Shared: Sendable {
        let value: Mutex<State>
        init(_ state: State) { value = Mutex(state) }
    }

    private let state: Shared
    private let transport: ScriptedTransport
    /// The token that the remote uses.
    private let credentials = ChangingToken("first")
    let remote: any Remote
    let sources: any SourceRemote

    init(knowing contents: [TestContent]) {
        let known = Dictionary(contents.map { ($0.key.description, $0.bytes) }) { $1 }
        let state = Shared(State(contents: known))
        self.state = state
        transport = ScriptedTransport { Self.take($0, state) }
        let section = Self.section(transport, credentials)
        (remote, sources) = (section, section)
    }

    private static func section(_ transport: ScriptedTransport, _ credentials: ChangingToken) -> FileSectionRemote {
        FileSectionRemote(
            url: "http://fake", account: "me", transport: transport,
            authorizer: BearerAuthorizer(credentials, url: "http://fake"))
    }

    func loseNextReply() { state.value.withLock { $0.losesReply = true } }

    func cutNextFragment(after bytes: Int) { state.value.withLock { $0.cutsFragment = true } }

    func forgetEverything() { state.value.withLock { $0.open = [:] } }

    func setDown(_ isDown: Bool) { state.value.withLock { $0.isDown = isDown } }

    func expireCredentials() { state.value.withLock { $0.token = "second" } }

    func renewCredentials() { credentials.set("second") }

    func dropLastByte() {
        state.value.withLock { state in
            for id in state.open.keys {
                guard let last = state.open[id]?.blocks.keys.max() else { continue }
                state.open[id]?.blocks[last]?.removeLast()
            }
        }
    }

    func answerNext(_ status: Int) {
        let body = Array(#"{"code":\#(status),"message":"no"}"#.utf8)
        state.value.withLock { $0.planned.append(HTTPReply(status: status, body: body)) }
    }

    func anotherRun() -> any Remote { Self.section(transport, credentials) }

    /// The server takes fragments in any order.
    func pretendToHave(_ bytes: UInt64) {}

    func arrived(_ index: Int) -> Int? { state.value.withLock { $0.open.values.first?.blocks[index + 1]?.count } }

    func holds(_ content: TestContent) -> Bool {
        state.value.withLock { state in state.finished.values.contains(content.key.description) }
    }

    var posts: Int { state.value.withLock { $0.posts.count } }

    var openUploads: Int { state.value.withLock { $0.open.count } }

    private static func take(_ request: SeenRequest, _ state: Shared) -> Result<HTTPReply, TransportError> {
        state.value.withLock { state in
            if state.isDown { return .failure(.connect("connection refused")) }
            if request.headers["Authorization"] != "Bearer \(state.token)" { return .success(HTTPReply(status: 401)) }
            if !state.planned.isEmpty { return .success(state.planned.removeFirst()) }
            if request.endpoint == "upload.do", state.cutsFragment {
                state.cutsFragment = false
                return .failure(.reset("the connection broke"))
            }
            let reply = answer(request, &state)
            defer { state.losesReply = false }
            return state.losesReply ? .failure(.reset("the reply was lost")) : .success(reply)
        }
    }

    private static func answer(_ request: SeenRequest, _ state: inout State) -> HTTPReply {
        let ids = request.json["fileIds"] as? [String] ?? []
        switch request.endpoint {
        case "preLoad.do": return preLoad(request, &state)
        case "upload.do": return upload(request, &state)
        case "isFinish.do": return isFinish(ids, &state)
        case "commit.do": return commit(request, ids, &state)
        default:
            for id in ids { state.open[id] = nil }
            return .json(data: "{}")
        }
    }

    private static func preLoad(_ request: SeenRequest, _ state: inout State) -> HTTPReply {
        var ids: [String] = []
        var existing: [String] = []
        for file in request.json["files"] as? [[String: Any]] ?? [] {
            state.lastID += 1
            ids.append("\(state.lastID)")
            let md5 = file["md5"] as? String ?? ""
            if state.finished.values.contains(md5) {
                existing.append("\(state.lastID)")
            } else {
                state.open["\(state.lastID)"] = Stored(md5: md5, size: file["totalSize"] as? Int ?? 0)
            }
        }
        let most = #""blocksPerRequest":4,"bytesPerRequest":2097152"#
        return .json(data: #"{"fileIds":\#(ids),"existing":\#(existing),\#(most)}"#)
    }

    private static func upload(_ request: SeenRequest, _ state: inout State) -> HTTPReply {
        let blocks = request.blocks
        guard !blocks.isEmpty, blocks.count <= 4, blocks.count == request.parts.count else {
            return HTTPReply(status: 400)
        }
        for (block, part) in zip(blocks, request.parts) {
            guard let id = block["id"] as? String, let number = block["blockNo"] as? Int, state.open[id] != nil else {
                return HTTPReply(status: 404)
            }
            state.open[id]?.blocks[number] = part.bytes
        }
        return .json(data: "{}")
    }

    private static func isFinish(_ ids: [String], _ state: inout State) -> HTTPReply {
        var failed: [String] = []
        for id in ids where state.finished[id] == nil {
            guard let stored = state.open[id] else { return HTTPReply(status: 404) }
            let bytes = stored.blocks.sorted { $0.key < $1.key }.flatMap(\.value)
            if bytes.count == stored.size, bytes == state.contents[stored.md5] {
                state.finished[id] = stored.md5
                state.open[id] = nil
            } else {
                failed.append(id)
                state.open[id]?.blocks = [:]
            }
        }
        let list = failed.joined(separator: ",")
        return .json(data: #"{"finishStatus":\#(failed.isEmpty ? 1 : 0),"failFileIds":"\#(list)"}"#)
    }

    private static func commit(_ request: SeenRequest, _ ids: [String], _ state: inout State) -> HTTPReply {
        guard ids.allSatisfy({ state.finished[$0] != nil }) else { return HTTPReply(status: 404) }
        let source = "\(request.json["sourceId"] ?? "") \(request.json["revision"] ?? "")"
        if let known = state.lists[source], known != ids {
            let revision = request.json["revision"] as? Int ?? 0
            return HTTPReply(
                status: 409, headers: [:], body: Array(#"{"code":409,"data":{"revision":\#(revision)}}"#.utf8))
        }
        let number = state.posts[source] ?? state.posts.count + 1
        state.posts[source] = number
        state.lists[source] = ids
        return .json(data: #"{"url":"http://fake/s/\#(number)"}"#)
    }
}

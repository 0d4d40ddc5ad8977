import Foundation
import Glibc
import Synchronization
import TestSupport

/// A tus 1.0 server in memory that keeps each byte when it arrives, also of requests that never end.
package final class TusServer: Sendable {
    /// Chooses the fault of a request by its method.
    package typealias Faults = @Sendable (String) -> FaultServer.Fault?

    /// One upload.
    package struct Upload: Sendable {
        package var size: Int
        package var bytes: [UInt8] = []
        package var metadata: [String: String]
        /// The connection whose bytes count: that of the last request about the upload.
        fileprivate var writer = -1

        package var isComplete: Bool { bytes.count == size }
        /// The MD5 of the content, as the client says.
        fileprivate var md5: String { metadata["md5"] ?? "" }
    }

    /// The start of a request.
    package struct Record: Sendable {
        package var method: String
        package var target: String
        /// `Upload-Offset` of the request.
        package var offset: Int?
        package var authorization: String?
        package var fault: FaultServer.Fault?
    }

    /// How much of a content arrived in requests without a fault.
    fileprivate struct Arrival {
        /// All bytes, those included that the server had or dropped.
        var bytes = 0
        /// The bytes of the upload that has most of them.
        var most = 0
    }

    fileprivate struct Shared {
        var uploads: [String: Upload] = [:]
        var records: [Record] = []
        /// By the MD5 of the content.
        var arrivals: [String: Arrival] = [:]
        /// The MD5 of each finished content whose bytes were discarded.
        var archive: [String] = []
        var lastID = 0
        /// The server takes no further byte of an upload that has so many.
        var most = Int.max
        var faults: Faults
        var refusal: Refusal?
        /// The only accepted bearer token; nil: everybody may send requests.
        var token: String?
        /// The faults of the requests under way, by connection.
        var current: [Int: FaultServer.Fault] = [:]
        var kills = 0
    }

    fileprivate final class Desk: Sendable {
        let shared: Mutex<Shared>
        init(_ faults: @escaping Faults) { shared = Mutex(Shared(faults: faults)) }
    }

    private let desk: Desk
    private let listener: KillableListener

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - most: how many bytes of an upload the server takes before it stops reading; see ``take(atMost:)``.
    ///   - pause: the pause after each piece of a body, at most 64 KiB.
    ///   - faults: chooses the faults.
    package init(
        takingAtMost most: Int = .max, pause: Duration = .zero, faults: @escaping Faults = { _ in nil }
    ) throws {
        let desk = Desk(faults)
        self.desk = desk
        let pause = UInt32(pause / .microseconds(1))
        listener = try KillableListener { port in
            try ScriptedServer(
                port: port, longestKeptBody: 0, keepsRequests: false,
                onHead: { head in
                    desk.begin(head)
                    return .read
                },
                onBody: { head, piece in
                    desk.receive(piece, head)
                    if pause > 0 { usleep(pause) }
                },
                handler: { desk.answer($0) })
        }
        take(atMost: most)
    }

    deinit {
        take(atMost: .max)
        listener.kill()
    }

    /// The listen port.
    package var port: UInt16 { listener.port }

    /// The URL that creates uploads.
    package var url: String { listener.url + "/files" }

    package var records: [Record] { desk.shared.withLock { $0.records } }

    /// The uploads by the path of their URL.
    package var uploads: [String: Upload] { desk.shared.withLock { $0.uploads } }

    /// Returns the URL of an upload from its path.
    package func url(of path: String) -> String { listener.url + path }

    /// The MD5 of each finished content, computed from its bytes.
    package var finished: [String] {
        let (archive, uploads) = desk.shared.withLock { ($0.archive, $0.uploads) }
        return archive + uploads.values.filter(\.isComplete).map { Digest.md5($0.bytes) }
    }

    /// All bytes that arrived in requests without a fault.
    package var arrivedBytes: Int { desk.shared.withLock { $0.arrivals.values.reduce(0) { $0 + $1.bytes } } }

    /// How many of the bytes of each content arrived again, by MD5. An upload that starts over counts as well.
    package var repetitions: [String: Int] {
        desk.shared.withLock { shared in shared.arrivals.mapValues { $0.bytes - $0.most } }
    }

    // MARK: Control by tests

    /// From now on, stops reading the body of a request once its upload has about so many bytes.
    package func take(atMost most: Int) { desk.shared.withLock { $0.most = most } }

    /// Refuses one content from now on.
    package func refuse(_ refusal: Refusal?) { desk.shared.withLock { $0.refusal = refusal } }
    package func setFaults(_ faults: @escaping Faults) { desk.shared.withLock { $0.faults = faults } }

    /// Rejects requests without this bearer token with 401 from now on.
    package func require(token: String) { desk.shared.withLock { $0.token = token } }

    /// Forgets an unfinished upload that has bytes, and returns the MD5 of its content; nil if there is none.
    package func forgetUnfinished() -> String? {
        desk.shared.withLock { shared in
            let open = shared.uploads.filter { !$0.value.isComplete && !$0.value.bytes.isEmpty }
            guard let victim = open.min(by: { $0.key < $1.key }) else { return nil }
            shared.uploads[victim.key] = nil
            return victim.value.md5
        }
    }

    /// Replaces the finished uploads of a content by the MD5 of their bytes, to save memory.
    package func archive(_ key: String) {
        desk.shared.withLock { shared in
            for (path, upload) in shared.uploads where upload.isComplete && upload.md5 == key {
                shared.archive.append(Digest.md5(upload.bytes))
                shared.uploads[path] = nil
            }
        }
    }

    /// Ends the server. Every second time, each unfinished upload loses its last half, as if it had not reached the disk.
    package func kill() {
        listener.kill()
        desk.shared.withLock { shared in
            shared.kills += 1
            if shared.kills % 2 == 1 { return }
            for (path, upload) in shared.uploads where !upload.isComplete {
                shared.uploads[path]?.bytes.removeLast(upload.bytes.count / 2)
            }
        }
    }

    /// Starts the server again, at the same port.
    package func start() throws { try listener.start() }
}

extension TusServer.Desk {
    fileprivate typealias Reply = ScriptedServer.Reply

    fileprivate func begin(_ head: ScriptedServer.Head) {
        shared.withLock { shared in
            let authorization = head.header("Authorization")
            let isKnown = shared.token.map { authorization == "Bearer \($0)" } ?? true
            let content = shared.uploads[head.target]?.md5 ?? Self.metadata(head.header("Upload-Metadata"))["md5"] ?? ""
            let refusal = shared.refusal?.fault(of: head.method, about: [content])
            let fault = isKnown ? shared.faults(head.method) ?? refusal : .status(401)
            shared.current[head.connection] = fault
            shared.records.append(
                TusServer.Record(
                    method: head.method, target: head.target, offset: head.header("Upload-Offset").flatMap { Int($0) },
                    authorization: authorization, fault: fault))
            // A new request about an upload ends the earlier one, whose last bytes may still be on their way.
            guard fault?.followsEffect ?? true, let upload = shared.uploads[head.target] else { return }
            let isInStep = head.method != "PATCH" || head.header("Upload-Offset") == "\(upload.bytes.count)"
            shared.uploads[head.target]?.writer = isInStep ? head.connection : -1
        }
    }

    fileprivate func receive(_ piece: ArraySlice<UInt8>, _ head: ScriptedServer.Head) {
        if head.method != "PATCH" { return }
        let counts = shared.withLock { shared in
            guard shared.current[head.connection]?.followsEffect ?? true else { return false }
            if let upload = shared.uploads[head.target] {
                shared.arrivals[upload.md5, default: TusServer.Arrival()].bytes += piece.count
            }
            return true
        }
        while counts, !take(piece, head) { usleep(10_000) }
    }

    /// - Returns: false if the server must wait.
    private func take(_ piece: ArraySlice<UInt8>, _ head: ScriptedServer.Head) -> Bool {
        shared.withLock { shared in
            guard shared.uploads[head.target]?.writer == head.connection else { return true }
            // The upload grows where it is: a copy of it here would copy all its bytes for each piece.
            guard let known = shared.uploads[head.target]?.bytes.count, known < shared.most else { return false }
            shared.uploads[head.target]?.bytes += piece
            let md5 = shared.uploads[head.target]?.md5 ?? ""
            let most = shared.arrivals[md5]?.most ?? 0
            shared.arrivals[md5]?.most = max(most, known + piece.count)
            return true
        }
    }

    fileprivate func answer(_ request: ScriptedServer.Request) -> Reply {
        shared.withLock { shared in
            let fault = shared.current[request.connection]
            let replacement = fault?.reply { status, _, fields in
                Self.reply(status, fields, text: "the server says \(status)\n")
            }
            if let replacement { return replacement }
            let reply = Self.correctReply(to: request, &shared)
            return fault?.ending(of: reply) ?? reply
        }
    }

    private static func correctReply(to request: ScriptedServer.Request, _ shared: inout TusServer.Shared) -> Reply {
        if request.method == "OPTIONS" {
            return reply(204, [("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,termination,expiration")])
        }
        guard request.header("Tus-Resumable") == "1.0.0" else { return reply(412) }
        if request.method == "POST" { return create(request, &shared) }
        guard let upload = shared.uploads[request.target] else { return reply(404) }
        let offset = ("Upload-Offset", "\(upload.bytes.count)")
        switch request.method {
        case "HEAD": return reply(200, [offset, ("Upload-Length", "\(upload.size)")])
        case "PATCH": return upload.writer == request.connection ? reply(204, [offset]) : reply(409)
        case "DELETE":
            shared.uploads[request.target] = nil
            return reply(204)
        default: return reply(405)
        }
    }

    private static func create(_ request: ScriptedServer.Request, _ shared: inout TusServer.Shared) -> Reply {
        guard ["/files", "/files/"].contains(request.target),
            let size = request.header("Upload-Length").flatMap({ Int($0) })
        else { return reply(400) }
        let metadata = metadata(request.header("Upload-Metadata"))
        shared.lastID += 1
        let path = "/files/\(shared.lastID)"
        shared.uploads[path] = TusServer.Upload(size: size, metadata: metadata)
        return reply(201, [("Location", path)])
    }

    private static func metadata(_ field: String?) -> [String: String] {
        var metadata: [String: String] = [:]
        for pair in (field ?? "").split(separator: ",") {
            let words = pair.split(separator: " ").map(String.init)
            guard words.count == 2, let value = Data(base64Encoded: words[1]) else { continue }
            metadata[words[0]] = String(decoding: value, as: UTF8.self)
        }
        return metadata
    }

    private static func reply(_ status: Int, _ fields: [(String, String)] = [], text: String = "") -> Reply {
        .response(status: status, headers: [("Tus-Resumable", "1.0.0")] + fields, body: Array(text.utf8))
    }
}

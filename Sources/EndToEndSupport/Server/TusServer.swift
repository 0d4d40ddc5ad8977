import Foundation
import Glibc
import Synchronization
import TestSupport

/// A tus 1.0 server in memory that keeps each byte when it arrives, also of requests that never end.
package final class TusServer: Sendable {
    /// One upload.
    package struct Upload: Sendable {
        package var size: Int
        package var bytes: [UInt8] = []
        package var metadata: [String: String]
        /// All bytes that arrived, those included that the server had or dropped.
        package var received = 0
        /// The connection whose bytes count: that of the last request about the upload.
        fileprivate var writer = -1

        package var isComplete: Bool { bytes.count == size }
    }

    /// The start of a request.
    package struct Record: Sendable {
        package var method: String
        package var target: String
        /// `Upload-Offset` of the request.
        package var offset: Int?
        package var authorization: String?
    }

    fileprivate struct Shared {
        var uploads: [String: Upload] = [:]
        var records: [Record] = []
        var lastID = 0
        /// The server takes no further byte of an upload that has so many.
        var most = Int.max
    }

    fileprivate final class Desk: Sendable {
        let shared = Mutex(Shared())
    }

    private let desk = Desk()
    private let listener: ScriptedServer

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - most: how many bytes of an upload the server takes before it stops reading; see ``take(atMost:)``.
    ///   - pause: the pause after each piece of a body, at most 64 KiB.
    ///   - losesReply: whether the reply to a request of this method is lost. The request has its effect.
    package init(
        takingAtMost most: Int = .max, pause: Duration = .zero,
        losesReply: @escaping @Sendable (String) -> Bool = { _ in false }
    ) throws {
        let desk = desk
        let pause = UInt32(pause / .microseconds(1))
        listener = try ScriptedServer(
            longestKeptBody: 0,
            onHead: { head in
                desk.begin(head)
                return .read
            },
            onBody: { head, piece in
                desk.receive(piece, head)
                if pause > 0 { usleep(pause) }
            },
            handler: { request in
                let reply = desk.answer(request)
                return losesReply(request.method) ? .close : reply
            })
        take(atMost: most)
    }

    deinit {
        take(atMost: .max)
        listener.stop()
    }

    /// The URL that creates uploads.
    package var url: String { listener.url + "/files" }

    package var records: [Record] { desk.shared.withLock { $0.records } }

    /// The uploads by the path of their URL.
    package var uploads: [String: Upload] { desk.shared.withLock { $0.uploads } }

    /// From now on, stops reading the body of a request once its upload has about so many bytes.
    package func take(atMost most: Int) { desk.shared.withLock { $0.most = most } }

    /// Returns the URL of an upload from its path.
    package func url(of path: String) -> String { listener.url + path }
}

extension TusServer.Desk {
    fileprivate typealias Reply = ScriptedServer.Reply

    fileprivate func begin(_ head: ScriptedServer.Head) {
        shared.withLock { shared in
            shared.records.append(
                TusServer.Record(
                    method: head.method, target: head.target, offset: head.header("Upload-Offset").flatMap { Int($0) },
                    authorization: head.header("Authorization")))
            // A new request about an upload ends the earlier one, whose last bytes may still be on their way.
            guard let upload = shared.uploads[head.target] else { return }
            let isInStep = head.method != "PATCH" || head.header("Upload-Offset") == "\(upload.bytes.count)"
            shared.uploads[head.target]?.writer = isInStep ? head.connection : -1
        }
    }

    fileprivate func receive(_ piece: ArraySlice<UInt8>, _ head: ScriptedServer.Head) {
        if head.method != "PATCH" { return }
        shared.withLock { $0.uploads[head.target]?.received += piece.count }
        while !take(piece, head) { usleep(10_000) }
    }

    /// - Returns: false if the server must wait.
    private func take(_ piece: ArraySlice<UInt8>, _ head: ScriptedServer.Head) -> Bool {
        shared.withLock { shared in
            guard let upload = shared.uploads[head.target], upload.writer == head.connection else { return true }
            if upload.bytes.count >= shared.most { return false }
            shared.uploads[head.target]?.bytes += piece
            return true
        }
    }

    fileprivate func answer(_ request: ScriptedServer.Request) -> Reply {
        shared.withLock { shared in
            if request.method == "OPTIONS" {
                return Self.reply(
                    204, [("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,termination,expiration")])
            }
            guard request.header("Tus-Resumable") == "1.0.0" else { return Self.reply(412) }
            if request.method == "POST" { return Self.create(request, &shared) }
            guard let upload = shared.uploads[request.target] else { return Self.reply(404) }
            let offset = ("Upload-Offset", "\(upload.bytes.count)")
            switch request.method {
            case "HEAD": return Self.reply(200, [offset, ("Upload-Length", "\(upload.size)")])
            case "PATCH": return upload.writer == request.connection ? Self.reply(204, [offset]) : Self.reply(409)
            case "DELETE":
                shared.uploads[request.target] = nil
                return Self.reply(204)
            default: return Self.reply(405)
            }
        }
    }

    private static func create(_ request: ScriptedServer.Request, _ shared: inout TusServer.Shared) -> Reply {
        guard ["/files", "/files/"].contains(request.target),
            let size = request.header("Upload-Length").flatMap({ Int($0) })
        else { return reply(400) }
        var metadata: [String: String] = [:]
        for pair in (request.header("Upload-Metadata") ?? "").split(separator: ",") {
            let words = pair.split(separator: " ").map(String.init)
            guard words.count == 2, let value = Data(base64Encoded: words[1]) else { continue }
            metadata[words[0]] = String(decoding: value, as: UTF8.self)
        }
        shared.lastID += 1
        let path = "/files/\(shared.lastID)"
        shared.uploads[path] = TusServer.Upload(size: size, metadata: metadata)
        return reply(201, [("Location", path)])
    }

    private static func reply(_ status: Int, _ fields: [(String, String)] = []) -> Reply {
        .response(status: status, headers: [("Tus-Resumable", "1.0.0")] + fields, body: [])
    }
}

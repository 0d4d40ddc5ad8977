import CCrypto
import Foundation
import Logging
import Testing

@testable import OutboxReceiver

/// A receiver running inside the test process on a free port, with a temporary directory as its root.
final class TestServer: Sendable {
    static let boundary = "test-boundary"
    static let blockSize = 524_288

    let root: URL
    let port: Int
    private let task: Task<Void, any Error>
    private let ownsRoot: Bool

    private init(root: URL, port: Int, task: Task<Void, any Error>, ownsRoot: Bool) {
        self.root = root
        self.port = port
        self.task = task
        self.ownsRoot = ownsRoot
    }

    /// Runs `body` with a server, then stops it and removes its directory.
    static func run(
        root: URL? = nil, configure: (inout ReceiverConfiguration) -> Void = { _ in },
        now: (@Sendable () -> Int64)? = nil,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ body: (TestServer) async throws -> Void
    ) async throws {
        let directory = root ?? FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { if root == nil { try? FileManager.default.removeItem(at: directory) } }
        let server = try await start(directory, configure, now, logger)
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private static func start(
        _ root: URL, _ configure: (inout ReceiverConfiguration) -> Void, _ now: (@Sendable () -> Int64)?,
        _ logger: Logger
    ) async throws -> TestServer {
        var configuration = ReceiverConfiguration(root: root.path, listen: ListenAddress(host: "127.0.0.1", port: 0))
        configure(&configuration)
        let receiver = try await opened(configuration, now, logger)
        let (ready, isReady) = AsyncStream.makeStream(of: Int.self)
        let task = Task {
            defer { isReady.finish() }
            try await receiver.run(onReady: { url in isReady.yield(URL(string: url)?.port ?? 0) })
        }
        for await port in ready { return TestServer(root: root, port: port, task: task, ownsRoot: true) }
        try await task.value
        throw CancellationError()
    }

    /// Opens a receiver. Retries for up to 120 s while the previous server still holds the root (exit code 75):
    /// a stopped server releases the root only when its last task ends.
    private static func opened(
        _ configuration: ReceiverConfiguration, _ now: (@Sendable () -> Int64)?, _ logger: Logger
    ) async throws -> Receiver {
        let deadline = ContinuousClock.now + .seconds(120)
        while true {
            do {
                return try Receiver(configuration, logger: logger, now: now)
            } catch {
                guard error.exitCode == 75, ContinuousClock.now < deadline else { throw error }
                await Task.yield()
            }
        }
    }

    func stop() async {
        task.cancel()
        _ = await task.result
    }

    // MARK: Requests

    func connection() throws -> HTTPConnection { try HTTPConnection(port: port) }

    func post(_ path: String, _ object: Any, token: String? = nil) throws -> HTTPConnection.Reply {
        let connection = try connection()
        try connection.send(
            "POST", path, headers(token), body: try JSONSerialization.data(withJSONObject: object))
        return try connection.reply()
    }

    /// Posts the JSON text unchanged.
    func post(_ path: String, json: String) throws -> HTTPConnection.Reply {
        let connection = try connection()
        try connection.send("POST", path, body: Data(json.utf8))
        return try connection.reply()
    }

    /// Posts a form as a browser does.
    func form(_ path: String, _ form: String, _ headers: [String: String] = [:]) throws -> HTTPConnection.Reply {
        let connection = try connection()
        let type = ["Content-Type": "application/x-www-form-urlencoded"]
        try connection.send("POST", path, headers.merging(type) { $1 }, body: Data(form.utf8))
        return try connection.reply()
    }

    func get(_ path: String, _ headers: [String: String] = [:], method: String = "GET") throws -> HTTPConnection.Reply {
        let connection = try connection()
        try connection.send(method, path, headers)
        return try connection.reply(hasBody: method != "HEAD")
    }

    private func headers(_ token: String?) -> [String: String] {
        token.map { ["Authorization": "Bearer \($0)"] } ?? [:]
    }

    func preLoad(
        _ content: Data, name: String = "a.jpg", type: String = "image/jpeg", md5: String? = nil, size: Int? = nil,
        path: String? = nil, modified: String = "2026-01-02T03:04:05.678Z", token: String? = nil
    ) throws -> (id: String, isExisting: Bool) {
        var file: [String: Any] = [
            "fileName": name, "totalSize": size ?? content.count, "md5": md5 ?? Self.md5(content), "mimeType": type,
            "modified": modified,
        ]
        if let path { file["path"] = path }
        let reply = try post("/fileSection/preLoad.do", ["fileCount": 1, "files": [file]], token: token)
        let id = try #require((reply.data["fileIds"] as? [String])?.first)
        return (id, (reply.data["existing"] as? [String])?.contains(id) ?? false)
    }

    func sendBlock(_ number: Int, of content: Data, id: String, token: String? = nil) throws -> HTTPConnection.Reply {
        try sendBody(
            Self.multipart(Self.block(number, of: content)),
            block: Self.fileBlocks([number], of: content, id: id)[0], token: token)
    }

    /// Sends several files of one block each in one request.
    func sendTogether(_ files: [(id: String, content: Data)]) throws -> HTTPConnection.Reply {
        let connection = try connection()
        let blocks = files.map {
            ["id": $0.id, "totalSize": $0.content.count, "blockTotal": 1, "blockNo": 1] as [String: Any]
        }
        try connection.send(
            "POST", "/fileSection/upload.do", try uploadHeaders(blocks: blocks),
            body: Self.multipart(files.map(\.content)))
        return try connection.reply()
    }

    /// Sends several fragments of a file in one request.
    func sendBlocks(_ numbers: [Int], of content: Data, id: String) throws -> HTTPConnection.Reply {
        let connection = try connection()
        try connection.send(
            "POST", "/fileSection/upload.do", try uploadHeaders(blocks: Self.fileBlocks(numbers, of: content, id: id)),
            body: Self.multipart(numbers.map { Self.block($0, of: content) }))
        return try connection.reply()
    }

    func sendBody(_ body: Data, block: [String: Any], token: String? = nil) throws -> HTTPConnection.Reply {
        let connection = try connection()
        try connection.send("POST", "/fileSection/upload.do", try uploadHeaders(block, token), body: body)
        return try connection.reply()
    }

    func uploadHeaders(_ block: [String: Any], _ token: String? = nil) throws -> [String: String] {
        try uploadHeaders(blocks: [block], token)
    }

    func uploadHeaders(blocks: [[String: Any]], _ token: String? = nil) throws -> [String: String] {
        let json = try JSONSerialization.data(withJSONObject: blocks)
        var headers = headers(token)
        headers["file_block"] = String(decoding: json, as: UTF8.self)
        headers["Content-Type"] = "multipart/form-data; boundary=\(Self.boundary)"
        return headers
    }

    func isFinish(_ ids: [String], token: String? = nil) throws -> HTTPConnection.Reply {
        try post("/fileSection/isFinish.do", ["fileIds": ids], token: token)
    }

    /// Uploads all of `content` and returns the path of the file's URL.
    @discardableResult
    func upload(
        _ content: Data, name: String = "a.jpg", type: String = "image/jpeg", path: String? = nil,
        modified: String = "2026-01-02T03:04:05.678Z", token: String? = nil
    ) throws -> (id: String, urlPath: String) {
        let (id, isExisting) = try preLoad(
            content, name: name, type: type, path: path, modified: modified, token: token)
        if !isExisting {
            for number in 1...Self.blocks(content) {
                #expect(try sendBlock(number, of: content, id: id, token: token).status == 200)
            }
        }
        return (id, try finishedPath(id, token: token))
    }

    /// Commits these files as a post and returns the path of the post's URL.
    func commit(
        _ ids: [String], source: String = "s1", revision: Int = 1, title: String = "A day at the sea",
        cover: String? = nil, createDate: String = "2026-11-21 09:30:00", token: String? = nil
    ) throws -> String {
        let reply = try post(
            "/source/commit.do",
            [
                "sourceId": source, "revision": revision, "title": title, "cover": cover ?? ids[0], "fileIds": ids,
                "createDate": createDate,
            ], token: token)
        return try #require((reply.data["url"] as? String).flatMap { URL(string: $0) }).path
    }

    /// The text of a page.
    func page(_ path: String) throws -> String { String(decoding: try get(path).body, as: UTF8.self) }

    func finishedPath(_ id: String, token: String? = nil) throws -> String {
        let reply = try isFinish([id], token: token)
        #expect(reply.data["finishStatus"] as? Int == 1)
        let url = try #require((reply.data["urls"] as? [String: String])?[id].flatMap { URL(string: $0) })
        return url.path(percentEncoded: true)
    }

    /// Paths of regular files below `folder`, relative to it.
    func files(_ folder: String) -> [String] {
        let base = root.appending(path: folder).path
        let all = FileManager.default.enumerator(atPath: base)?.compactMap { $0 as? String } ?? []
        return all.filter { path in
            var isDirectory: ObjCBool = false
            return FileManager.default.fileExists(atPath: base + "/" + path, isDirectory: &isDirectory)
                && !isDirectory.boolValue
        }.sorted()
    }

    /// The inode of a file below the root.
    func inode(_ path: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: root.appending(path: path).path)
        return attributes[.systemFileNumber] as? Int
    }

    // MARK: Values

    /// The bytes of a block; blocks count from 1.
    static func block(_ number: Int, of content: Data) -> Data {
        Data(content.dropFirst((number - 1) * blockSize).prefix(blockSize))
    }

    /// The elements of the header field `file_block`.
    static func fileBlocks(_ numbers: [Int], of content: Data, id: String) -> [[String: Any]] {
        numbers.map { ["id": id, "totalSize": content.count, "blockTotal": blocks(content), "blockNo": $0] }
    }

    static func blocks(_ content: Data) -> Int { (content.count + blockSize - 1) / blockSize }

    static func md5(_ content: Data) -> String {
        var digest = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        MD5(Array(content), content.count, &digest)
        return digest.map { String(format: "%02x", $0) }.joined()
    }

    static func multipart(_ payload: Data, name: String = "sectionFile", end: String = "--\r\n") -> Data {
        Data("--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"; filename=\"x-0.jpg\"\r\n\r\n".utf8)
            + payload + Data("\r\n--\(boundary)\(end)".utf8)
    }

    /// A body with several parts.
    static func multipart(_ payloads: [Data]) -> Data {
        let last = payloads.count - 1
        return payloads.dropLast().reduce(Data()) { $0 + multipart($1, end: "").dropLast(boundary.utf8.count + 2) }
            + multipart(payloads[last])
    }

    /// Pseudorandom bytes, different for each seed.
    static func content(_ count: Int, seed: UInt64 = 1) -> Data {
        var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        var bytes = [UInt8](repeating: 0, count: count)
        for index in bytes.indices {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            bytes[index] = UInt8(truncatingIfNeeded: state >> 56)
        }
        return Data(bytes)
    }
}

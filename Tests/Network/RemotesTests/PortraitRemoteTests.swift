import Foundation
import HTTPTypes
import LinuxSystem
import Remotes
import TestSupport
import Testing
import Transport
import UploadCore

@Suite("portrait.do")
struct PortraitRemoteTests {
    private let picture: [UInt8] = [0xFF, 0xD8, 0xFF, 1, 2, 3]

    private func replace(_ script: @escaping ScriptedTransport.Script) async throws(RemoteFailure) -> String {
        try await remote(ScriptedTransport(script)).replacePortrait(TestBody(picture))
    }

    private func remote(_ transport: ScriptedTransport) -> any PortraitRemote {
        FileSectionRemote(
            url: "https://host/base", account: "me", transport: transport,
            authorizer: BearerAuthorizer(FixedToken(token: "secret"), url: "https://host"))
    }

    private func failure(_ script: @escaping ScriptedTransport.Script) async -> RemoteFailure? {
        do throws(RemoteFailure) {
            _ = try await replace(script)
            return nil
        } catch {
            return error
        }
    }

    @Test("sends one part in the exact format, and returns the URL unchanged")
    func shape() async throws {
        let transport = ScriptedTransport(data: #"{"userImg":"http://h/u/42.jpg!150x150"}"#)
        let url = try await remote(transport).replacePortrait(TestBody(picture))
        #expect(url == "http://h/u/42.jpg!150x150")
        let request = try #require(transport.requests.first)
        #expect(request.method == "POST" && request.url == "https://host/base/user/portrait.do")
        #expect(request.headers == ["Authorization": "Bearer secret"])
        #expect(
            request.parts == [
                .init(name: "portrait", fileName: "portrait.jpg", contentType: "image/jpeg", bytes: picture)
            ])
    }

    @Test("the body is the whole file, also at the second attempt")
    func file() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("a.jpg")
        try Data(picture).write(to: URL(filePath: path))
        let body = try FileBody(SharedDescriptor(opening: path, flags: 0))
        #expect(body.length == 6)
        for _ in 0..<2 {
            var bytes = [UInt8](repeating: 0, count: 10)
            #expect(try bytes.withUnsafeMutableBytes { try body.read(into: $0) } == 6)
            #expect(Array(bytes.prefix(6)) == picture)
            #expect(try bytes.withUnsafeMutableBytes { try body.read(into: $0) } == 0)
            body.rewind()
        }
    }

    @Test("a file that shrank is refused as a body")
    func shrunk() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("a.jpg")
        try Data(picture).write(to: URL(filePath: path))
        let body = try FileBody(SharedDescriptor(opening: path, flags: 0))
        try Data([1]).write(to: URL(filePath: path))
        var bytes = [UInt8](repeating: 0, count: 10)
        #expect(throws: BodyTooShort.self) { try bytes.withUnsafeMutableBytes { try body.read(into: $0) } }
    }

    @Test(
        "an invalid URL is a bad reply",
        arguments: [
            #"{}"#, #"{"userImg":null}"#, #"{"userImg":""}"#, #"{"userImg":"u/42.jpg"}"#, #"{"userImg":"http://"}"#,
            #"{"userImg":"ftp://h/1.jpg"}"#, #"{"userImg":"http:///1.jpg"}"#, #"{"userImg":"http://h/a b"}"#,
            #"{"userImg":"http://h/\n"}"#, #"{"userImg":7}"#, "[]",
            #"{"userImg":"http://h/\#(String(repeating: "a", count: 3000))"}"#,
        ])
    func badURL(_ data: String) async {
        guard case .temporary(let error, _, _) = await failure({ _ in .success(.json(data: data)) }) else {
            Issue.record("taken: \(data)")
            return
        }
        #expect(error.code == "bad_reply")
    }

    @Test("404, 405 and 410 report a wrong URL", arguments: [404, 405, 410])
    func wrongURL(_ status: Int) async {
        guard
            case .temporary(let error, _, let outlook) = await failure({ _ in .success(HTTPReply(status: status)) })
        else {
            Issue.record("not temporary: \(status)")
            return
        }
        #expect(error.code == "wrong_url" && outlook == .lasting)
    }

    @Test("other statuses are judged as for all requests")
    func judged() async {
        if case .permanent(let error) = await failure({ _ in .success(HTTPReply(status: 415)) }) {
            #expect(error.code == "refused")
        } else {
            Issue.record("415 is not permanent")
        }
        if case .signedOut = await failure({ _ in .success(HTTPReply(status: 401)) }) {
        } else {
            Issue.record("401 is not signed out")
        }
        let busy = HTTPReply(status: 503, headers: [.retryAfter: "7"])
        if case .temporary(_, .some(.seconds(7)), _) = await failure({ _ in .success(busy) }) {
        } else {
            Issue.record("Retry-After is lost")
        }
    }
}

/// A body in memory.
final class TestBody: BodySource, @unchecked Sendable {
    // Unchecked: only one thread at a time calls a body source.
    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var length: UInt64 { UInt64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, bytes.count - offset)
        buffer.copyBytes(from: bytes[offset..<offset + count])
        offset += count
        return count
    }

    func rewind() { offset = 0 }
}

import EndToEndSupport
import Foundation
import Glibc

/// An HTTP connection to a receiver that speaks fileSection without the agent's code.
final class ReceiverClient {
    struct Closed: Error {}

    struct Reply {
        let status: Int
        let data: [String: Any]
    }

    private static let boundary = "outbox-boundary"
    private var descriptor: Int32
    private let port: Int
    private var received = Data()

    init(port: Int) throws {
        self.port = port
        descriptor = try Self.connected(to: port)
    }

    private static func connected(to port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            throw Closed()
        }
        return descriptor
    }

    deinit { close(descriptor) }

    // MARK: fileSection

    /// Registers the content. Returns the id, or nil and the status if the receiver refuses.
    func preLoad(
        _ content: [UInt8], name: String, type: String = "image/jpeg", token: String? = nil
    ) throws -> (id: String?, status: Int) {
        let file: [String: Any] = [
            "fileName": name, "totalSize": content.count, "md5": Digest.md5(content), "mimeType": type,
        ]
        let reply = try post("preLoad.do", ["fileCount": 1, "files": [file]], token: token)
        return ((reply.data["fileIds"] as? [String])?.first, reply.status)
    }

    static func blocks(_ content: [UInt8]) -> Int { (content.count + 524_287) / 524_288 }

    /// Sends block `number`, from 1, and returns the status.
    func sendBlock(_ number: Int, of content: [UInt8], id: String) throws -> Int {
        try reply(to: block(number, of: content, id: id)).status
    }

    /// Sends block `number`, from 1, without its last 1000 bytes.
    func beginBlock(_ number: Int, of content: [UInt8], id: String) throws {
        try send(block(number, of: content, id: id).dropLast(1000))
    }

    private func block(_ number: Int, of content: [UInt8], id: String) -> Data {
        let bytes = content.dropFirst((number - 1) * 524_288).prefix(524_288)
        let head =
            "--\(Self.boundary)\r\nContent-Disposition: form-data; name=\"sectionFile\"; filename=\"\(id)-\(number - 1).jpg\"\r\n"
            + "Content-Type: image/jpg\r\n\r\n"
        let block =
            "[{\"id\":\"\(id)\",\"totalSize\":\(content.count),\"blockTotal\":\(Self.blocks(content)),\"blockNo\":\(number)}]"
        return request(
            "upload.do", ["file_block": block, "Content-Type": "multipart/form-data; boundary=\(Self.boundary)"],
            body: Data(head.utf8) + Data(bytes) + Data("\r\n--\(Self.boundary)--\r\n".utf8))
    }

    /// Returns 0, 1 or 2, or nil if the receiver does not know the id.
    func finishStatus(_ id: String) throws -> Int? {
        try post("isFinish.do", ["fileIds": [id]]).data["finishStatus"] as? Int
    }

    /// Returns the URL of a finished file, or nil if the file is not finished.
    func url(of id: String) throws -> String? {
        (try post("isFinish.do", ["fileIds": [id]]).data["urls"] as? [String: String])?[id]
    }

    private func post(_ path: String, _ json: [String: Any], token: String? = nil) throws -> Reply {
        try reply(
            to: request(
                path, token.map { ["Authorization": "Bearer \($0)"] } ?? [:],
                body: try JSONSerialization.data(withJSONObject: json)))
    }

    // MARK: HTTP

    private func request(_ path: String, _ headers: [String: String], body: Data) -> Data {
        var head = "POST /fileSection/\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
        head += "Content-Length: \(body.count)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        return Data((head + "\r\n").utf8) + body
    }

    private func reply(to request: Data) throws -> Reply {
        let (status, body) = try exchange(request)
        let json = try? JSONSerialization.jsonObject(with: body) as? [String: Any]
        return Reply(status: status, data: json?["data"] as? [String: Any] ?? [:])
    }

    /// Returns the body of a GET request.
    func get(_ path: String) throws -> Data {
        try exchange(Data("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n".utf8)).body
    }

    private func exchange(_ request: Data) throws -> (status: Int, body: Data) {
        try send(request)
        while received.range(of: Data("\r\n\r\n".utf8)) == nil { try fill() }
        guard let end = received.range(of: Data("\r\n\r\n".utf8)) else { throw Closed() }
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
        received = Data(received[end.upperBound...])
        while received.count < length ?? 0 { try fill() }
        let body = Data(received.prefix(length ?? 0))
        received = Data(received.dropFirst(length ?? 0))
        if lines.contains(where: { $0.lowercased() == "connection: close" }) {
            close(descriptor)
            descriptor = try Self.connected(to: port)
            received = Data()
        }
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (status ?? 0, body)
    }

    private func send(_ data: Data) throws {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Closed() }
            rest = rest.dropFirst(count)
        }
    }

    private func fill() throws {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw Closed() }
        received.append(contentsOf: buffer[..<count])
    }
}

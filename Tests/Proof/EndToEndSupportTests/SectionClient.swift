import EndToEndSupport
import Foundation
import Glibc

/// Sends requests to a fault server, each over its own connection.
struct SectionClient {
    struct Reply {
        /// The HTTP status; nil if the connection ended without a reply.
        var status: Int?
        var data: [String: Any] = [:]
    }

    struct NotConnected: Error {}

    let server: FaultServer
    var token: String?

    func post(_ path: String, _ message: [String: Any]) throws -> Reply {
        try send(path, JSONSerialization.data(withJSONObject: message), headers: [])
    }

    /// Registers files with their name as content, sends them and returns their ids.
    ///
    /// - Parameter finish: Whether to ask isFinish about the files at the end.
    func upload(_ names: [String], finish: Bool = true) throws -> [String] {
        let files = names.map { name in
            [
                "fileName": name, "totalSize": name.utf8.count, "md5": Digest.md5(Array(name.utf8)),
                "mimeType": "image/jpeg",
            ]
                as [String: Any]
        }
        let reply = try post("/fileSection/preLoad.do", ["fileCount": names.count, "files": files])
        let ids = reply.data["fileIds"] as? [String] ?? []
        let existing = Set(reply.data["existing"] as? [String] ?? [])
        for (name, id) in zip(names, ids) where !existing.contains(id) { _ = try sendBlock(name, id: id) }
        if finish { _ = try post("/fileSection/isFinish.do", ["fileIds": ids]) }
        return ids
    }

    func sendBlock(_ content: String, id: String) throws -> Reply {
        let body =
            "--b\r\nContent-Disposition: form-data; name=\"sectionFile\"; filename=\"\(id)-0.jpg\"\r\n"
            + "Content-Type: image/jpg\r\n\r\n\(content)\r\n--b--\r\n"
        let block = "[{\"id\":\"\(id)\",\"totalSize\":\(content.utf8.count),\"blockTotal\":1,\"blockNo\":1}]"
        return try send(
            "/fileSection/upload.do", Data(body.utf8),
            headers: ["file_block: \(block)", "Content-Type: multipart/form-data; boundary=b"])
    }

    func commit(_ ids: [String], title: String = "Sea", revision: Int = 1, _ changes: [String: Any] = [:]) throws
        -> Reply
    {
        let message: [String: Any] = [
            "sourceId": "s1", "revision": revision, "title": title, "cover": ids.first ?? "", "fileIds": ids,
            "createDate": "2026-11-21 09:30:00",
        ]
        return try post("/source/commit.do", message.merging(changes) { $1 })
    }

    private func send(_ path: String, _ body: Data, headers: [String]) throws -> Reply {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(server.port.bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw NotConnected() }
        let lines =
            ["POST \(path) HTTP/1.1", "Host: x", "Connection: close", "Content-Length: \(body.count)"] + headers
            + (token.map { ["Authorization: Bearer \($0)"] } ?? [])
        let request = Array(Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
        guard Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw NotConnected()
        }
        return reply(from: descriptor)
    }

    /// Reads until the reply is complete or the server closes the connection.
    private func reply(from descriptor: Int32) -> Reply {
        var received = Data()
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            if let end = received.range(of: Data("\r\n\r\n".utf8)),
                let json = try? JSONSerialization.jsonObject(with: received[end.upperBound...]) as? [String: Any]
            {
                let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
                let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) }
                return Reply(status: status, data: json["data"] as? [String: Any] ?? [:])
            }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return Reply(status: nil) }
            received.append(contentsOf: buffer[..<count])
        }
    }
}

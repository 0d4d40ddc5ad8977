import Foundation
import Glibc

/// A blocking HTTP/1.1 connection that sends exactly the given bytes, well-formed or not.
final class HTTPConnection {
    struct Reply {
        let status: Int
        let headers: [String: String]
        let body: Data

        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: body) as? [String: Any]) ?? [:] }
        var data: [String: Any] { json["data"] as? [String: Any] ?? [:] }
    }

    struct Closed: Error {}

    private let descriptor: Int32
    private let port: Int
    private var received = Data()

    init(port: Int) throws {
        self.port = port
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Closed() }
    }

    deinit { close(descriptor) }

    func send(_ data: Data) throws {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Closed() }
            rest = rest.dropFirst(count)
        }
    }

    func send(
        _ method: String, _ path: String, _ headers: [String: String] = [:], body: Data = Data(), length: Int? = nil
    ) throws {
        let host = headers["Host"] == nil ? "Host: 127.0.0.1:\(port)\r\n" : ""
        var head = "\(method) \(path) HTTP/1.1\r\n\(host)Content-Length: \(length ?? body.count)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        try send(Data((head + "\r\n").utf8) + body)
    }

    func reply(hasBody: Bool = true) throws -> Reply {
        while received.range(of: Data("\r\n\r\n".utf8)) == nil { try fill() }
        guard let end = received.range(of: Data("\r\n\r\n".utf8)) else { throw Closed() }
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        received = Data(received[end.upperBound...])
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                in: .whitespaces)
        }
        let status = Int(lines[0].split(separator: " ")[1]) ?? 0
        let length = hasBody && status != 304 ? headers["content-length"].flatMap { Int($0) } ?? 0 : 0
        while received.count < length { try fill() }
        let body = Data(received.prefix(length))
        received = Data(received.dropFirst(length))
        return Reply(status: status, headers: headers, body: body)
    }

    /// Whether the peer closed the connection and no unread bytes are left.
    func hasEnded() -> Bool {
        var byte: UInt8 = 0
        return received.isEmpty && recv(descriptor, &byte, 1, 0) == 0
    }

    private func fill() throws {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw Closed() }
        received.append(contentsOf: buffer[..<count])
    }
}

import FoundationEssentials
import Glibc
import SystemPackage

/// Asks an agent over its Unix socket (docs/http.md).
struct ControlRequest {
    /// The part of `GET /v1/health` that matters here.
    struct Health: Decodable {
        let scanned: Bool
    }

    let socket: String

    /// Returns the agent's health; nil if the agent does not listen yet.
    func health() throws -> Health? {
        guard let body = try get("/v1/health") else { return nil }
        return try JSONDecoder().decode(Health.self, from: Data(body))
    }

    /// Returns the number of files by state.
    func counts() throws -> [String: Int] {
        struct List: Decodable {
            let counts: [String: Int]
        }
        guard let body = try get("/v1/files?limit=0") else { throw Failure("the agent does not answer") }
        return try JSONDecoder().decode(List.self, from: Data(body)).counts
    }

    /// Returns the number of full scans that have ended.
    func scans() throws -> Int {
        let metric = "outbox_scans_total "
        let lines = String(decoding: try get("/metrics") ?? [], as: UTF8.self).split(separator: "\n")
        guard let count = lines.first(where: { $0.hasPrefix(metric) }).flatMap({ Int($0.dropFirst(metric.count)) })
        else { throw Failure("the agent's metrics have no \(metric)") }
        return count
    }

    /// Returns the seconds until the whole answer is there.
    func seconds(_ target: String) throws -> Double {
        let start = ContinuousClock.now
        guard try get(target) != nil else { throw Failure("the agent does not answer") }
        return start.secondsAgo
    }

    /// Returns the body of an answer; nil if nobody listens.
    ///
    /// - Throws: `Failure` if the answer is not 200.
    private func get(_ target: String) throws -> [UInt8]? {
        guard let connection = try connection() else { return nil }
        return try connection.closeAfter {
            _ = try connection.writeAll("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
            var answer: [UInt8] = []
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
            defer { buffer.deallocate() }
            while case let count = try connection.read(into: buffer), count > 0 { answer += buffer[..<count] }
            let blank = answer.firstRange(of: Array("\r\n\r\n".utf8))
            guard let blank, answer.starts(with: Array("HTTP/1.1 200 ".utf8)) else {
                throw Failure("\(target): \(String(decoding: answer.prefix(200), as: UTF8.self))")
            }
            return Self.body(answer[..<blank.lowerBound], Array(answer[blank.upperBound...]))
        }
    }

    /// Returns a body without the sizes of its chunks (RFC 9112, section 7.1).
    private static func body(_ head: ArraySlice<UInt8>, _ bytes: [UInt8]) -> [UInt8] {
        guard String(decoding: head, as: UTF8.self).lowercased().contains("transfer-encoding: chunked") else {
            return bytes
        }
        var body: [UInt8] = []
        var rest = bytes[...]
        while let end = rest.firstRange(of: Array("\r\n".utf8)),
            let size = Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16), size > 0
        {
            body += rest[end.upperBound...].prefix(size)
            rest = rest[end.upperBound...].dropFirst(size + 2)
        }
        return body
    }

    private func connection() throws -> FileDescriptor? {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system("socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(socket.utf8)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else {
            close(descriptor)
            throw Failure("\(socket) is too long for a socket; choose a shorter --work-dir")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else {
            close(descriptor)
            return nil
        }
        return FileDescriptor(rawValue: descriptor)
    }
}

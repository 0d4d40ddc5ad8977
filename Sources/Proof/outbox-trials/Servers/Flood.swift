import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Synchronization

/// Many connections of peers who mean harm, on a thread of their own. Closed connections are replaced.
final class Flood: Sendable {
    /// What each connection does, turn by turn.
    struct Manner: Sendable {
        /// What is sent, over and over if ``repeats``.
        var bytes: [UInt8]
        var repeats = true
        /// Whether the peer leaves once it has sent everything, and comes back on a new connection.
        var leaves = false
        /// The most bytes that are sent and read in a turn.
        var sends = 1 << 16
        var reads = 0
        /// The pause between turns in microseconds.
        var pause: UInt32 = 0
    }

    private struct Connection {
        let descriptor: Int32
        var sent = 0
    }

    private let port: Int
    private let manner: Manner
    private let isOver = Atomic(false)
    private let hasEnded = Atomic(false)
    private let closings = Atomic(0)

    /// Begins with so many connections.
    init(_ count: Int, to port: Int, _ manner: Manner) {
        self.port = port
        self.manner = manner
        Thread.detachNewThread { [self] in
            var connections = (0..<count).compactMap { _ in connect() }
            while !isOver.load(ordering: .relaxed) {
                for index in connections.indices where !takeTurn(&connections[index]) {
                    close(connections[index].descriptor)
                    closings.add(1, ordering: .relaxed)
                    if let next = connect() { connections[index] = next }
                }
                usleep(max(manner.pause, 1000))
            }
            for connection in connections { close(connection.descriptor) }
            hasEnded.store(true, ordering: .sequentiallyConsistent)
        }
    }

    /// How many connections the server closed.
    var closed: Int { closings.load(ordering: .relaxed) }

    /// Closes all connections.
    func end() async throws {
        isOver.store(true, ordering: .relaxed)
        try await Poll.until("the flood to end") { hasEnded.load(ordering: .sequentiallyConsistent) }
    }

    private func connect() -> Connection? {
        let descriptor = Peer.socket(to: port, isPatient: false)
        return descriptor >= 0 ? Connection(descriptor: descriptor) : nil
    }

    /// - Returns: false once the connection is closed.
    private func takeTurn(_ connection: inout Connection) -> Bool {
        if manner.reads > 0 {
            var buffer = [UInt8](repeating: 0, count: manner.reads)
            let count = recv(connection.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count == 0 || count < 0 && errno != EAGAIN { return false }
        }
        if connection.sent == manner.bytes.count, manner.repeats { connection.sent = 0 }
        let rest = manner.bytes[connection.sent...].prefix(manner.sends)
        guard !rest.isEmpty else { return !manner.leaves }
        let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        let count = rest.withUnsafeBytes { send(connection.descriptor, $0.baseAddress, $0.count, flags) }
        if count < 0 { return errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS }
        connection.sent += count
        return true
    }
}

/// A peer that sends one request after another and reads the replies.
struct Peer {
    struct Reply {
        let status: Int
        let body: String
    }

    let port: Int
    var token: String?

    /// - Parameter isPatient: whether calls wait. The small buffers of others make the server's fill up.
    static func socket(to port: Int, isPatient: Bool) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(AF_INET, isPatient ? kind : kind | Int32(SOCK_NONBLOCK.rawValue), 0)
        if isPatient {
            var limit = timeval(tv_sec: 60, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        } else {
            var size: Int32 = 4096
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result == 0 || !isPatient && errno == EINPROGRESS { return descriptor }
        close(descriptor)
        return -1
    }

    /// Returns the bytes of a request.
    func request(_ path: String, _ fields: [String: String] = [:], body: [UInt8] = []) -> [UInt8] {
        var head = "\(body.isEmpty ? "GET" : "POST") \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        if !body.isEmpty { head += "Content-Length: \(body.count)\r\n" }
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        return Array((head + "\r\n").utf8) + body
    }

    /// Sends a request on a new connection. Returns nil if no whole reply comes.
    func exchange(_ path: String, _ fields: [String: String] = [:], body: [UInt8] = []) -> Reply? {
        let descriptor = Self.socket(to: port, isPatient: true)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var rest = request(path, fields.merging(["Connection": "close"]) { $1 }, body: body)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return nil }
            rest = rest.dropFirst(count)
        }
        var reply: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            reply += buffer.prefix(count)
        }
        let parts = String(decoding: reply, as: UTF8.self).components(separatedBy: "\r\n\r\n")
        guard parts.count > 1, let status = Int(parts[0].dropFirst(9).prefix(3)) else { return nil }
        return Reply(status: status, body: parts.dropFirst().joined(separator: "\r\n\r\n"))
    }

    // MARK: fileSection

    /// Uploads a file. Returns the last status, and the path of the file's URL.
    func upload(_ content: [UInt8], path: String) -> (status: Int, url: String?) {
        let announced = Array(
            #"{"files":[{"fileName":"a.jpg","totalSize":\#(content.count),"md5":"\#(Digest.md5(content))","path":"\#(path)"}]}"#
                .utf8)
        guard let opened = exchange("/fileSection/preLoad.do", body: announced), opened.status == 200,
            let id = opened.body.firstMatch(of: /"fileIds":\["([0-9a-f]{32})"/).map({ String($0.1) })
        else { return (exchange("/fileSection/preLoad.do", body: announced)?.status ?? 0, nil) }
        let total = (content.count + 524_287) / 524_288
        for number in 1...total {
            let block = #"[{"id":"\#(id)","totalSize":\#(content.count),"blockTotal":\#(total),"blockNo":\#(number)}]"#
            let bytes = content.dropFirst((number - 1) * 524_288).prefix(524_288)
            let head = "--b\r\nContent-Disposition: form-data; name=\"sectionFile\"; filename=\"x.jpg\"\r\n\r\n"
            let sent = exchange(
                "/fileSection/upload.do", ["file_block": block, "Content-Type": "multipart/form-data; boundary=b"],
                body: Array(head.utf8) + bytes + Array("\r\n--b--\r\n".utf8))
            guard sent?.status == 200 else { return (sent?.status ?? 0, nil) }
        }
        let finished = exchange("/fileSection/isFinish.do", body: Array(#"{"fileIds":["\#(id)"]}"#.utf8))
        // http://HOST:PORT/f/TOKEN/NAME
        let url = finished?.body.firstMatch(of: #/http:[\\/]+[^/\\"]+(\\?/f[^"]+)"/#).map { String($0.1) }
        return (finished?.status ?? 0, url?.replacing("\\/", with: "/"))
    }
}

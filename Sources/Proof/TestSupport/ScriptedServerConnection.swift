import Glibc
import Synchronization

/// One connection of a ``ScriptedServer``, on its own thread.
struct ScriptedConnection {
    let server: ScriptedServer
    let descriptor: Int32
    let number: Int
    private var buffer: [UInt8] = []

    init(server: ScriptedServer, descriptor: Int32, number: Int) {
        self.server = server
        self.descriptor = descriptor
        self.number = number
    }

    /// Why a connection ends.
    private enum Ending: Error {
        case closed
        case reset
    }

    consuming func run() {
        var ending = Ending.closed
        do {
            while true { try exchange() }
        } catch {
            ending = error
        }
        server.state.withLock { _ = $0.open.remove(descriptor) }
        if ending == .reset {
            // man 7 socket, SO_LINGER: closing with a linger time of zero resets the connection.
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
        close(descriptor)
    }

    private mutating func exchange() throws(Ending) {
        let head = try readHead()
        let (body, length) = try readBody(of: head)
        let request = ScriptedServer.Request(head: head, body: body, bodyLength: length)
        if server.keepsRequests { server.state.withLock { $0.requests.append(request) } }
        let reply = server.handler(request)
        switch reply {
        case .response(let status, let headers, let body):
            try write(header(status: status, fields: headers, length: body.count))
            if head.method != "HEAD" { try write(body) }
            if headers.contains(where: { $0.0.lowercased() == "connection" && $0.1.lowercased() == "close" }) {
                throw .closed
            }
        case .json(let status, let text):
            try write(header(status: status, fields: [("Content-Type", "application/json")], length: text.utf8.count))
            try write(Array(text.utf8))
        case .raw(let bytes):
            try write(bytes)
            throw .closed
        case .truncated(let status, let promised, let body):
            try write(header(status: status, fields: [], length: promised))
            try write(body)
            throw .closed
        case .reset: throw .reset
        case .close: throw .closed
        case .hang: try waitForHangup()
        }
    }

    // MARK: Reading

    private mutating func readHead() throws(Ending) -> ScriptedServer.Head {
        let lines = try readLinesToBlank()
        let start = lines.first?.split(separator: " ") ?? []
        guard start.count == 3 else { throw .closed }
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return (String(line[..<colon]), String(value))
        }
        let index = server.state.withLock { state in
            state.started += 1
            return state.started - 1
        }
        return ScriptedServer.Head(
            method: String(start[0]), target: String(start[1]), headers: headers, index: index, connection: number)
    }

    private mutating func readBody(of head: ScriptedServer.Head) throws(Ending) -> ([UInt8], length: Int) {
        var body = BodyKeeper(head: head, fault: server.onHead(head), longest: server.longestKeptBody)
        if head.header("Transfer-Encoding")?.lowercased() == "chunked" {
            // RFC 9112, section 7.1.
            while let size = Int(try readLine().prefix { $0 != ";" }, radix: 16), size > 0 {
                try read(size, into: &body)
                _ = try readLine()
            }
            _ = try readLinesToBlank()
        } else {
            try read(Int(head.header("Content-Length") ?? "") ?? 0, into: &body)
        }
        return (body.bytes, body.length)
    }

    private struct BodyKeeper {
        let head: ScriptedServer.Head
        let fault: ScriptedServer.BodyFault
        let longest: Int
        var bytes: [UInt8] = []
        var length = 0

        mutating func take(_ new: ArraySlice<UInt8>) {
            length += new.count
            if length <= longest { bytes += new } else { bytes = [] }
        }
    }

    private mutating func read(_ count: Int, into body: inout BodyKeeper) throws(Ending) {
        var left = count
        while true {
            // The number of body bytes before the fault. The fault strikes exactly there, even at the end of the
            // body.
            var allowed = left
            switch body.fault {
            case .read: break
            case .resetAfter(let limit):
                if body.length >= limit { throw .reset }
                allowed = min(left, limit - body.length)
            case .stallAfter(let limit):
                if body.length >= limit { try waitForHangup() }
                allowed = min(left, limit - body.length)
            }
            if left == 0 { return }
            if buffer.isEmpty { try fill() }
            let piece = buffer.prefix(allowed)
            body.take(piece)
            server.state.withLock { $0.bodyBytes += piece.count }
            server.onBody(body.head, piece)
            left -= piece.count
            buffer.removeFirst(piece.count)
        }
    }

    private mutating func readLinesToBlank() throws(Ending) -> [String] {
        var lines: [String] = []
        while true {
            let line = try readLine()
            if line.isEmpty { return lines }
            lines.append(line)
        }
    }

    /// Reads a line, without its line break.
    private mutating func readLine() throws(Ending) -> String {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = buffer[..<end]
                let text = String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
                buffer.removeFirst(end + 1)
                return text
            }
            if buffer.count > 1 << 20 { throw .closed }
            try fill()
        }
    }

    private mutating func fill() throws(Ending) {
        let old = buffer.count
        let descriptor = descriptor
        var result = 0
        buffer.reserveCapacity(old + 64 << 10)
        let more = [UInt8](unsafeUninitializedCapacity: 64 << 10) { space, count in
            repeat {
                result = Glibc.read(descriptor, space.baseAddress, space.count)
            } while result < 0 && errno == EINTR
            count = max(result, 0)
        }
        guard result > 0 else { throw .closed }
        buffer += more
    }

    /// Waits until the peer or `stop()` closes the connection, without reading further bytes.
    private func waitForHangup() throws(Ending) -> Never {
        // man 2 poll: POLLRDHUP, which needs _GNU_SOURCE.
        var entry = pollfd(fd: descriptor, events: 0x2000, revents: 0)
        while poll(&entry, 1, -1) < 0 && errno == EINTR {}
        throw .closed
    }

    // MARK: Writing

    private func header(status: Int, fields: [(String, String)], length: Int) -> [UInt8] {
        var text = "HTTP/1.1 \(status) Scripted\r\nContent-Length: \(length)\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    private func write(_ bytes: [UInt8]) throws(Ending) {
        var written = 0
        while written < bytes.count {
            let result = bytes.withUnsafeBytes { all in
                let rest = UnsafeRawBufferPointer(rebasing: all[written...])
                return send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if result < 0 && errno == EINTR { continue }
            guard result > 0 else { throw .closed }
            written += result
        }
    }
}

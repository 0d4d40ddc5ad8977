import Glibc
import SystemPackage

/// TCP sockets, on 127.0.0.1 unless another address is given.
enum Loopback {
    /// Returns a socket that listens on any free port.
    static func listen(at host: String = "127.0.0.1") throws -> FileDescriptor {
        let listener = try makeSocket()
        try withAddress(host, port: 0) { address, length in
            guard bind(listener.rawValue, address, length) == 0, Glibc.listen(listener.rawValue, 128) == 0 else {
                throw Failure.system("listening on \(host)")
            }
        }
        return listener
    }

    /// Returns the URL of a listening socket.
    static func address(of listener: FileDescriptor) throws -> String {
        var end = try localEnd(of: listener)
        var text = [CChar](repeating: 0, count: Int(INET_ADDRSTRLEN))
        inet_ntop(AF_INET, &end.sin_addr, &text, socklen_t(text.count))
        let host = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return "http://\(host):\(UInt16(bigEndian: end.sin_port))"
    }

    /// Returns a currently free port.
    static func freePort() throws -> UInt16 {
        let listener = try listen()
        return try listener.closeAfter { try port(of: listener) }
    }

    /// Waits until the process listens on a port.
    static func waitUntilOpen(_ port: UInt16, served process: ChildProcess) throws {
        for _ in 0..<300 {
            try process.checkRunning()
            let probe = try makeSocket()
            let connected = try probe.closeAfter {
                withAddress(port: port) { connect(probe.rawValue, $0, $1) == 0 }
            }
            if connected { return }
            usleep(100_000)
        }
        throw Failure("\(process.name) did not listen within 30 s; see \(process.log)")
    }

    private static func makeSocket() throws -> FileDescriptor {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system("socket") }
        return FileDescriptor(rawValue: descriptor)
    }

    private static func port(of listener: FileDescriptor) throws -> UInt16 {
        UInt16(bigEndian: try localEnd(of: listener).sin_port)
    }

    private static func localEnd(of listener: FileDescriptor) throws -> sockaddr_in {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(listener.rawValue, $0, &length)
            }
        }
        guard code == 0 else { throw Failure.system("getsockname") }
        return address
    }

    private static func withAddress<Result>(
        _ host: String = "127.0.0.1", port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        return try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

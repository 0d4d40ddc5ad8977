import ArgumentParser
import Glibc
import SystemPackage

/// The server for curl: writes the body of any request to a file, the minimum work of a server.
struct Sink: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The server that curl sends to.", shouldDisplay: false)

    static let announcement = "sink listening on "

    @Option var directory: String
    @Option var address = "127.0.0.1"

    func run() throws {
        let listener = try Loopback.listen(at: address)
        say("\(Self.announcement)\(try Loopback.address(of: listener))")
        while true {
            // This process starts no programs that could inherit the descriptor.
            let connection = FileDescriptor(rawValue: accept(listener.rawValue, nil, nil))
            guard connection.rawValue >= 0 else { throw Failure.system("accept") }
            try connection.closeAfter { try serve(connection) }
        }
    }

    /// Serves one request; the caller then closes the connection.
    private func serve(_ connection: FileDescriptor) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var head: [UInt8] = []
        var headEnd: Int?
        while headEnd == nil {
            let count = try connection.read(into: buffer)
            guard count > 0 else { return }
            head += buffer[..<count]
            headEnd = head.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound
        }
        let bodyStart = headEnd ?? 0
        var left = Self.contentLength(String(decoding: head[..<bodyStart], as: UTF8.self))
        if head.count == bodyStart { _ = try connection.writeAll("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
        let file = try FileDescriptor.open(
            "\(directory)/body", .writeOnly, options: [.create, .truncate, .closeOnExec], permissions: .ownerReadWrite)
        try file.closeAfter {
            left -= try file.writeAll(head[bodyStart...])
            while left > 0 {
                let count = try connection.read(into: buffer)
                guard count > 0 else { return }
                left -= try file.writeAll(buffer[..<count])
            }
        }
        _ = try connection.writeAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
    }

    private static func contentLength(_ head: String) -> Int {
        let line = head.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("content-length:") }
        return line.flatMap { Int($0.drop { $0 != ":" }.dropFirst().filter { !$0.isWhitespace }) } ?? 0
    }
}

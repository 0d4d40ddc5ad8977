import ArgumentParser
import Glibc
import LinuxSystem
import SystemPackage

/// The server of `curl`: discards the body of each request, writes it to a file, or also verifies it.
struct Sink: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The server of the measurements with curl, or one that discards everything.", shouldDisplay: false)

    static let announcement = "sink listening on "

    /// What the server does with the body of a request.
    enum Duty {
        /// The kernel drops the bytes unread.
        case discard
        /// Writes them to a file.
        case store
        /// Writes them to a file, computes their MD5 meanwhile and flushes the file: what the receiver does with a
        /// content before it confirms it.
        case verify

        /// The options of this command for the duty.
        func arguments(directory: String) -> [String] {
            switch self {
            case .discard: []
            case .store: ["--directory", directory]
            case .verify: ["--directory", directory, "--verify"]
            }
        }

        /// What a contender's name says of its server.
        var remark: String {
            switch self {
            case .discard: ""
            case .store: " (only stored)"
            case .verify: " (verified)"
            }
        }
    }

    @Option(help: "The directory for the last body (default: discard all bodies).") var directory: String?
    @Flag(help: "Compute the MD5 of the body, and flush its file, before the answer.") var verify = false
    @Option var address = "127.0.0.1"

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        let listener = try Loopback.listen(at: address)
        let url = try Loopback.address(of: listener)
        say("\(Self.announcement)\(url)")
        let answers = SinkAnswers(url: url)
        while true {
            // This process starts no programs that could inherit the descriptor.
            let connection = FileDescriptor(rawValue: accept(listener.rawValue, nil, nil))
            guard connection.rawValue >= 0 else { throw Failure.system("accept") }
            let body = directory.map { SinkFile(path: "\($0)/body", verifies: verify) }
            startThread(name: "connection") { SinkConnection(connection, bodyFile: body, answers).serve() }
        }
    }
}

/// One connection to the sink: HTTP/1.1 requests with a Content-Length, one after the other (RFC 9112).
private final class SinkConnection: Sendable {
    private let connection: FileDescriptor
    private let bodyFile: SinkFile?
    private let answers: SinkAnswers

    init(_ connection: FileDescriptor, bodyFile: SinkFile?, _ answers: SinkAnswers) {
        self.connection = connection
        self.bodyFile = bodyFile
        self.answers = answers
    }

    func serve() {
        defer { try? connection.close() }
        // Small, so that most of a fragment is left for the kernel to discard.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 4096)
        defer { buffer.deallocate() }
        var ahead: [UInt8] = []
        while (try? serveRequest(&ahead, buffer)) == true {}
    }

    /// Serves one request.
    ///
    /// - Parameter ahead: The bytes read so far of this request; afterwards those of the next one.
    /// - Returns: False at the end of the connection.
    private func serveRequest(_ ahead: inout [UInt8], _ buffer: UnsafeMutableRawBufferPointer) throws -> Bool {
        var end: Int?
        while end == nil {
            end = ahead.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound
            if end == nil {
                let count = try connection.read(into: buffer)
                guard count > 0 else { return false }
                ahead += buffer[..<count]
            }
        }
        let head = SinkRequest(String(decoding: ahead[..<(end ?? 0)], as: UTF8.self))
        ahead.removeFirst(end ?? 0)
        if head.expectsContinue { _ = try connection.writeAll("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
        let early = ahead.prefix(head.contentLength)
        ahead.removeFirst(early.count)
        let left = head.contentLength - early.count
        let answer: String
        if let place = SinkAnswers.Place(head.target) {
            let rest = try read(left, buffer)
            answer = answers.answer(place, to: early + rest)
        } else {
            if let bodyFile {
                try bodyFile.store(Array(early), andNext: left, from: connection)
            } else {
                try discard(left)
            }
            answer = SinkAnswers.nothing
        }
        _ = try connection.writeAll(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)"
                .utf8)
        return true
    }

    private func read(_ count: Int, _ buffer: UnsafeMutableRawBufferPointer) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let space = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, count - bytes.count)])
            let read = try connection.read(into: space)
            guard read > 0 else { throw Failure("the client hung up") }
            bytes += space[..<read]
        }
        return bytes
    }

    /// Has the kernel drop the next bytes without a copy (man 7 tcp, `MSG_TRUNC`).
    private func discard(_ count: Int) throws {
        var left = count
        while left > 0 {
            let dropped = recv(connection.rawValue, nil, left, Int32(MSG_TRUNC))
            guard dropped > 0 else { throw Failure("the client hung up") }
            left -= dropped
        }
    }
}

/// The parts of a request's head that the sink needs.
struct SinkRequest {
    let target: String
    let contentLength: Int
    let expectsContinue: Bool

    init(_ head: String) {
        let lines = head.split(whereSeparator: \.isNewline)
        target = lines.first?.split(separator: " ").dropFirst().first.map(String.init) ?? ""
        func field(_ name: String) -> String? {
            let line = lines.first { $0.lowercased().hasPrefix("\(name):") }
            return line.map { $0.dropFirst(name.count + 1).lowercased().filter { !$0.isWhitespace } }
        }
        contentLength = field("content-length").flatMap { Int($0) } ?? 0
        expectsContinue = field("expect") == "100-continue"
    }
}

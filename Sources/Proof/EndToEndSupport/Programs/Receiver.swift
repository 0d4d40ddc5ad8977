package import Foundation
import Glibc
package import TestSupport

/// A running `outbox-receiver` with a root of its own.
package final class Receiver {
    package let directory: TemporaryDirectory
    package let root: String
    package private(set) var program: Program?
    package private(set) var port = 0
    /// The complete environment for the next start.
    package var environment: [String: String]
    /// Arguments for the next start, in addition to the root and the address.
    package var options: [String] = []
    /// A program that runs the receiver, with its arguments.
    package var launcher: [String] = []

    /// Creates the root; starts nothing. If `parent` is given, the caller removes the receiver's directory.
    package init(in parent: String? = nil) throws {
        directory = try TemporaryDirectory(prefix: parent == nil ? "outbox-recv" : "receiver", in: parent)
        root = directory.path("root")
        environment = ["PATH": "/usr/bin:/bin", "HOME": directory.path, "LANG": "C.UTF-8"]
        try Files.makeDirectory(root)
    }

    /// Returns a receiver that already listens.
    package static func started(in parent: String? = nil) async throws -> Receiver {
        let receiver = try Receiver(in: parent)
        try await receiver.start()
        return receiver
    }

    deinit { program?.kill(SIGKILL) }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// Starts the receiver, on its previous port if it had one, and waits until it prints its address.
    package func start() async throws {
        let announced = announcements.count
        let words = try launcher + [Program.path(of: "outbox-receiver")]
        let program = try Program(
            words[0], words.dropFirst() + ["--root", root, "--listen", "127.0.0.1:\(port)"] + options,
            environment: environment, directory: directory.path,
            outputPrefix: directory.path("receiver"))
        self.program = program
        let line = try await Poll.value("the receiver to listen", lastState: { program.errorTail() }) {
            if let ending = program.ending {
                throw Surprise("the receiver ended while starting: \(ending)\n\(program.errorTail())")
            }
            return announcements.count > announced ? announcements.last : nil
        }
        port = line.split(separator: ":").last.flatMap { Int($0) } ?? 0
    }

    /// The lines of the receiver's log, over all its starts.
    package var log: [Substring] {
        let text = FileManager.default.contents(atPath: directory.path("receiver.err")) ?? Data()
        return String(decoding: text, as: UTF8.self).split(separator: "\n")
    }

    private var announcements: [String] {
        let text = FileManager.default.contents(atPath: directory.path("receiver.out")) ?? Data()
        // Ignore a last line without a newline.
        return String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map(String.init).filter { $0.hasPrefix("outbox-receiver listening on http://") }
    }

    /// Kills the receiver with SIGKILL and waits for its end.
    package func kill() async throws {
        program?.kill(SIGKILL)
        try await program?.wait()
        program = nil
    }

    /// Sends `GET target`. Returns nil if the receiver does not answer.
    package func get(_ target: String) -> (status: Int, body: Data)? {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return nil }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let request = Array("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n".utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return nil }
        var reply = Data()
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            if let end = reply.range(of: Data("\r\n\r\n".utf8)) {
                let fields = String(decoding: reply[..<end.lowerBound], as: UTF8.self).lowercased()
                let length = fields.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) }
                guard let length, let status = Int(fields.dropFirst(9).prefix(3)) else { return nil }
                if reply.count - end.upperBound >= length { return (status, reply[end.upperBound...]) }
            }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            reply.append(contentsOf: buffer[..<count])
        }
    }

    // MARK: Stored files

    /// Returns the user-visible tree: relative paths with the MD5 of each file.
    package func files() throws -> [String: String] {
        let tree = "\(root)/files"
        return try Dictionary(
            uniqueKeysWithValues: Files.regularFiles(tree).map { ($0, try Digest.md5(file: "\(tree)/\($0)")) })
    }

    /// Returns the MD5 of each stored object, one per file in `objects/`.
    package func objects() throws -> [String] {
        let tree = "\(root)/objects"
        return try Files.regularFiles(tree).map { try Digest.md5(file: "\(tree)/\($0)") }.sorted()
    }
}

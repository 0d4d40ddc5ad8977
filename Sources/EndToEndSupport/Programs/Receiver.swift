import Foundation
import Glibc
package import TestSupport

/// A running `outbox-receiver` with a root of its own.
package final class Receiver {
    package let directory: TemporaryDirectory
    package let root: String
    package private(set) var program: Program?
    package private(set) var port = 0
    /// The whole environment of its next start.
    package var environment: [String: String]
    /// Arguments of its next start, beside where it stores and listens.
    package var options: [String] = []

    /// Makes the root; starts nothing. With a parent its directory is left to the caller to remove.
    package init(in parent: String? = nil) throws {
        directory = try TemporaryDirectory(prefix: parent == nil ? "outbox-recv" : "receiver", in: parent)
        root = directory.path("root")
        environment = ["PATH": "/usr/bin:/bin", "HOME": directory.path, "LANG": "C.UTF-8"]
        try Files.makeDirectory(root)
    }

    /// A receiver that listens already.
    package static func started(in parent: String? = nil) async throws -> Receiver {
        let receiver = try Receiver(in: parent)
        try await receiver.start()
        return receiver
    }

    deinit { program?.kill(SIGKILL) }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// Starts it, on the port it had before where it had one, and waits until it says where it listens.
    package func start() async throws {
        let announced = announcements.count
        let program = try Program(
            "outbox-receiver", ["--root", root, "--listen", "127.0.0.1:\(port)"] + options,
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

    /// The lines of its log, over all its starts.
    package var log: [Substring] {
        let text = FileManager.default.contents(atPath: directory.path("receiver.err")) ?? Data()
        return String(decoding: text, as: UTF8.self).split(separator: "\n")
    }

    private var announcements: [String] {
        let text = FileManager.default.contents(atPath: directory.path("receiver.out")) ?? Data()
        // A line counts once it is whole.
        return String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map(String.init).filter { $0.hasPrefix("outbox-receiver listening on http://") }
    }

    /// `kill -9` and waits for the end.
    package func kill() async throws {
        program?.kill(SIGKILL)
        try await program?.wait()
        program = nil
    }

    // MARK: What it stores

    /// The readable tree, relative paths with the MD5 of each file.
    package func files() throws -> [String: String] {
        let tree = "\(root)/files"
        return try Dictionary(
            uniqueKeysWithValues: Files.regularFiles(tree).map { ($0, try Digest.md5(file: "\(tree)/\($0)")) })
    }

    /// The MD5 of each stored object, one for each file in `objects/`.
    package func objects() throws -> [String] {
        let tree = "\(root)/objects"
        return try Files.regularFiles(tree).map { try Digest.md5(file: "\(tree)/\($0)") }.sorted()
    }
}

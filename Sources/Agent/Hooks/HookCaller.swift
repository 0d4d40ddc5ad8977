import CLinux
import Digests
import FoundationEssentials
import Glibc
import HTTPTypes
import LinuxSystem
import Processes
import Text
import Transport
import UploadCore

/// What a hook answered.
struct HookReply: Sendable {
    var end: HookQueue.CallEnd
    /// Bytes that the hook's processes wrote.
    var written: UInt64 = 0
    /// For people: the last line of a program's errors, or the status.
    var text: String
}

/// Runs the program of a hook. Blocks, on a thread of its own.
struct HookProgram {
    /// man 3 sysexits, EX_CONFIG: the program will never take this.
    private static let refusal: Int32 = 78

    let words: [String]
    let timeout: Duration
    /// The agent's environment, of which the program gets a few names.
    let environment: [String: String]

    /// - Parameters:
    ///   - lines: JSON, one outcome a line.
    ///   - id: of the first outcome.
    func call(_ lines: [UInt8], id: String) -> HookReply {
        do {
            return try run(lines, id)
        } catch {
            let failure = StartFailure(error, starting: words.first ?? "")
            return HookReply(end: .failed(failure.description, retryAfter: nil), text: failure.description)
        }
    }

    private func run(_ lines: [UInt8], _ id: String) throws -> HookReply {
        let input = try Self.memoryFile(lines)
        let output = try OutputPipe()
        var variables = environment.filter { ["PATH", "HOME", "LANG"].contains($0.key) }
        variables["OUTBOX_EVENT_ID"] = id
        let process = try LimitedProcess(
            ProcessCommand(
                program: words[0], arguments: Array(words.dropFirst()), environment: variables,
                descriptors: [input, output.writing, output.writing], limits: ProcessLimits(openFiles: nil, niceness: 0)
            ))
        var tail = TextTail()
        let deadline = monotonicNanoseconds() + UInt64(clamping: timeout.wholeNanoseconds)
        var hasEnded = false
        while !hasEnded, monotonicNanoseconds() < deadline {
            hasEnded = waitUntilReadable([process.pollDescriptor, output.reading.rawValue], deadline: deadline)[0]
            _ = output.drain { tail.append($0) }
        }
        // The process is not reaped yet, so its figures are still there.
        let written = Self.written(by: process.pid)
        let ending = process.end()
        _ = output.drain { tail.append($0) }
        let said = tail.lastLine.isEmpty ? "" : ": \(tail.lastLine)"
        if !hasEnded {
            let text = "it took over \(timeout.components.seconds) s and was killed\(said)"
            return HookReply(end: .failed(text, retryAfter: nil), written: written, text: text)
        }
        let text = "\(ending)\(said)"
        switch ending {
        case .exited(0): return HookReply(end: .delivered, written: written, text: text)
        case .exited(Self.refusal): return HookReply(end: .refused(text), written: written, text: text)
        default: return HookReply(end: .failed(text, retryAfter: nil), written: written, text: text)
        }
    }

    /// The input: a file in memory, so that a program that does not read it blocks nothing.
    private static func memoryFile(_ bytes: [UInt8]) throws -> SharedDescriptor {
        let file = SharedDescriptor(Descriptor(owning: try retryingOnInterrupt { outbox_memory_file("outcomes") }))
        try writeAll(bytes, to: file.rawValue)
        lseek(file.rawValue, 0, SEEK_SET)
        return file
    }

    /// Returns the bytes that a process and the children it waited for have written (man 5 proc, /proc/pid/io).
    private static func written(by pid: Int32) -> UInt64 {
        let lines = ProcFile.text("/proc/\(pid)/io")?.split(separator: "\n") ?? []
        let number = lines.first { $0.hasPrefix("wchar: ") }?.split(separator: " ").last
        return number.flatMap { UInt64($0) } ?? 0
    }
}

/// Sends outcomes to the address of a hook.
struct HookAddress: Sendable {
    private static let longestReply = 64 << 10

    let url: String
    let secretFile: String?
    let timeout: Duration
    /// Whether the body is a list, because a call may have several outcomes.
    let isList: Bool
    let transport: any HTTPTransport

    /// - Parameter lines: JSON, one outcome a line.
    func call(_ lines: [UInt8], id: String, now: WallTime) async -> HookReply {
        do {
            let reply = try await transport.send(try request(lines, id, now))
            let text = "status \(reply.status)"
            switch reply.status {
            case 200..<300: return HookReply(end: .delivered, text: text)
            case 410: return HookReply(end: .refused(text), text: text)
            default:
                let pause = RetryAfter.duration(in: reply.headers)
                return HookReply(end: .failed(text, retryAfter: pause), text: text)
            }
        } catch {
            let text = (error as? SecretTrouble)?.description ?? "\(error)"
            return HookReply(end: .failed(text, retryAfter: nil), text: text)
        }
    }

    private func request(_ lines: [UInt8], _ id: String, _ now: WallTime) throws -> TransportRequest {
        let objects = lines.split(separator: UInt8(ascii: "\n")).joined(separator: Array(",\n".utf8))
        let body = isList ? Array("[".utf8) + objects + Array("]".utf8) : Array(objects)
        var headers: HTTPFields = [.contentType: "application/json"]
        if let secretFile {
            let seconds = now.milliseconds / 1000
            let signature = try WebhookSignature(secretFile: secretFile).text(id: id, seconds: seconds, body: body)
            for (name, value) in [
                ("webhook-id", id), ("webhook-timestamp", "\(seconds)"), ("webhook-signature", signature),
            ] { if let name = HTTPField.Name(name) { headers[name] = value } }
        }
        return TransportRequest(
            method: .post, url: url, headers: headers, body: .bytes(body), maximumReplyLength: Self.longestReply,
            timeouts: .init(connect: timeout, stall: timeout, reply: timeout))
    }
}

/// Why a hook's secret can't be used.
struct SecretTrouble: Error, CustomStringConvertible {
    let description: String
}

/// Signs a body as Standard Webhooks say (standardwebhooks.com, v1: HMAC-SHA-256).
struct WebhookSignature {
    private static let longestSecret = 4096

    private let key: [UInt8]

    /// - Parameter secretFile: holds the secret in base64, with or without `whsec_` in front.
    init(secretFile: String) throws {
        let file = try SharedDescriptor(opening: secretFile, flags: O_RDONLY | O_NONBLOCK)
        let text = String(decoding: try readAll(from: file.rawValue, atMost: Self.longestSecret), as: UTF8.self)
        let line = text.split(whereSeparator: \.isWhitespace).first ?? ""
        guard let key = Data(base64Encoded: String(line.hasPrefix("whsec_") ? line.dropFirst(6) : line)), !key.isEmpty
        else { throw SecretTrouble(description: "\(secretFile) holds no secret in base64, such as whsec_…") }
        self.key = Array(key)
    }

    func text(id: String, seconds: Int64, body: [UInt8]) -> String {
        let message = Array("\(id).\(seconds).".utf8) + body
        return "v1," + Data(HMACSHA256.code(of: message, key: key)).base64EncodedString()
    }
}

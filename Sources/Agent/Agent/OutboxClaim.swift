import AgentConfiguration
import CLinux
import Glibc
import Intake
import LinuxSystem
import Logging
import Synchronization
import SystemPackage
import UploadCore

/// Detects a second agent with another state directory on the same outbox. Both agents would send every file and
/// write its sidecar.
///
/// The claim is an abstract Unix socket (man 7 unix) named after the directory's device and inode. The kernel removes
/// the socket with its process. The claim leaves no file in the outbox and does not prevent unmounting. It is only
/// advisory, since any program can take the name.
final class OutboxClaim: Sendable {
    /// The result of a claim.
    enum Outcome: Equatable, Sendable {
        /// No other agent uses the outbox.
        case held
        /// Another agent uses the outbox; `nil` if its process id is unknown.
        case taken(by: Int32?)
    }

    private let name: [UInt8]
    private let socket = Mutex<Int32?>(nil)

    /// Creates a claim on a directory without taking it.
    ///
    /// - Throws: `Errno` of statx(2).
    init(outbox path: String) throws(Errno) {
        let status = try FileStatus(path: path)
        name = [0] + Array("outbox-agent/\(String(status.device, radix: 16)):\(status.inode)".utf8)
    }

    deinit {
        if let descriptor = socket.withLock(\.self) { close(descriptor) }
    }

    /// Claims the outbox for the lifetime of this object. Idempotent.
    ///
    /// - Throws: `Errno` if the claim can't be checked.
    func take() throws(Errno) -> Outcome {
        if socket.withLock({ $0 != nil }) { return .held }
        let descriptor = Descriptor(
            owning: try retryingOnInterrupt {
                Glibc.socket(
                    AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue),
                    0)
            })
        let number = descriptor.rawValue
        do {
            try retryingOnInterrupt { withAddress { bind(number, $0, $1) } }
        } catch .addressInUse {
            return .taken(by: holder(number))
        }
        try retryingOnInterrupt { listen(number, 128) }
        let kept = descriptor.release()
        socket.withLock { $0 = kept }
        return .held
    }

    /// Returns the id of the process that listens under the name.
    private func holder(_ number: Int32) -> Int32? {
        guard withAddress({ connect(number, $0, $1) }) == 0 else { return nil }
        var peer = outbox_peer()
        return outbox_peer_of(number, &peer) == 0 && peer.process > 0 ? peer.process : nil
    }

    private func withAddress(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name.prefix($0.count)) }
        let length = MemoryLayout<sa_family_t>.size + name.count
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(length)) }
        }
    }
}

extension RunningAgent {
    /// Claims the outbox. While another agent holds the claim, reports that and retries.
    func claimOutbox(every pause: Duration = .seconds(10)) async {
        // The watch reports directories that can't be examined.
        let claim = try? files.call(.root, "claiming") { [path = configuration.outbox] _ throws(Errno) in
            try OutboxClaim(outbox: path)
        }
        guard let claim else { return }
        var isTaken = false
        while !Task.isCancelled {
            if case .taken(let holder) = (try? claim.take()) ?? .held {
                if !isTaken { tell(sharedWith: holder) }
                isTaken = true
            } else if isTaken {
                isTaken = false
                logger.notice("no other agent works on the outbox any more")
                uploader.run { $0.status.problems[.secondAgent] = nil }
            }
            try? await Timers.sleep(for: isTaken ? pause : .seconds(86_400))
        }
        withExtendedLifetime(claim) {}
    }

    private func tell(sharedWith holder: Int32?) {
        let who = holder.map { "another agent (pid \($0))" } ?? "another agent"
        let message =
            "\(who) works on the same outbox, \(configuration.outbox): both send every file and write its sidecar; stop one, "
            + "or give each an outbox of its own"
        logger.error("\(message)")
        uploader.run { $0.status.problems[.secondAgent] = message }
    }
}

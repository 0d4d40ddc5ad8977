import Foundation
import Glibc
import TestSupport

/// A block device whose power can be cut: a loop device over a file that this process serves through FUSE.
///
/// The kernel's block layer and the file system on top are real, with all their flushes. Needs root, `/dev/fuse` and
/// a free loop device.
final class VolatileDisk: @unchecked Sendable {
    // Unchecked: `lock` guards all mutable state.
    private enum Power {
        case on
        /// The disk accepts requests without answering. Programs can rely only on earlier answers.
        case frozen
        /// Every request fails.
        case off
    }

    private let lock = NSLock()
    private var image: VolatileImage
    private var power = Power.on
    private var held: [(unique: UInt64, isWrite: Bool)] = []
    /// Writes accepted before a cut and never answered.
    private var neverAnswered = 0
    /// The number of requests until the power fails automatically.
    private var fuse: Int?
    private var connection: Int32 = -1
    /// Counts the attachments. An earlier loop device or file system may survive unmounting, for instance in another
    /// mount namespace; all its requests fail.
    private var generation = 0

    /// Whether writes of file contents fail while all other writes succeed.
    private var failsContents = false
    private(set) var failedWrites = 0
    private(set) var writes = 0
    private(set) var flushes = 0

    init(size: Int) throws {
        image = try VolatileImage(size: size)
    }

    // MARK: Mounting

    /// Mounts the file system with the file `disk` in it.
    func attach(at directory: String) throws {
        let connection = open("/dev/fuse", O_RDWR | O_CLOEXEC)
        guard connection >= 0 else { throw Missing("/dev/fuse: \(String(cString: strerror(errno)))") }
        let options = "fd=\(connection),rootmode=40000,user_id=0,group_id=0"
        guard mount("outbox-trial", directory, "fuse", UInt(MS_NOSUID | MS_NODEV), options) == 0 else {
            let reason = String(cString: strerror(errno))
            close(connection)
            throw Missing("mount of a FUSE file system: \(reason)")
        }
        let generation = lock.withLock {
            self.connection = connection
            power = .on
            held = []
            fuse = nil
            self.generation += 1
            return self.generation
        }
        Thread { [self] in serve(connection, generation) }.start()
    }

    /// Answers requests until the file system is unmounted.
    private func serve(_ connection: Int32, _ generation: Int) {
        let size = Fuse.mostWritten + Fuse.room
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
        defer {
            buffer.deallocate()
            close(connection)
        }
        while true {
            let count = Glibc.read(connection, buffer.baseAddress, size)
            if count < 0, errno == EINTR || errno == EAGAIN || errno == ENOENT { continue }
            // ENODEV: the file system was unmounted.
            guard count >= Fuse.inHeaderSize else { return }
            let request = Fuse.Request(bytes: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            if let reply = lock.withLock({ answer(request, generation) }) { send(reply, connection) }
        }
    }

    private func send(_ reply: Fuse.Reply, _ connection: Int32) {
        reply.finished.withUnsafeBytes { _ = Glibc.write(connection, $0.baseAddress, $0.count) }
    }

    /// Returns the answer, or nil if the request needs none or must wait.
    private func answer(_ request: Fuse.Request, _ generation: Int) -> Fuse.Reply? {
        switch request.opcode {
        case .forget, .batchForget, .interrupt: return nil
        case .initialize:
            var reply = Fuse.Reply(to: request.unique)
            reply.appendInit(readAhead: request.readAhead)
            return reply
        case .lookup where request.name == "disk":
            var reply = Fuse.Reply(to: request.unique)
            reply.appendEntry(node: Fuse.fileNode, size: image.size)
            return reply
        case .lookup: return Fuse.Reply(to: request.unique, error: ENOENT)
        case .getattr, .setattr:
            var reply = Fuse.Reply(to: request.unique)
            reply.appendAttributes(node: request.node, size: image.size)
            return reply
        case .open:
            var reply = Fuse.Reply(to: request.unique)
            reply.append(UInt64(1))
            reply.append(UInt64(0))
            return reply
        case .release, .flush, .destroy: return Fuse.Reply(to: request.unique)
        case .read, .write, .fsync:
            guard generation == self.generation else { return Fuse.Reply(to: request.unique, error: EIO) }
            return transfer(request)
        case nil: return Fuse.Reply(to: request.unique, error: ENOSYS)
        }
    }

    private func transfer(_ request: Fuse.Request) -> Fuse.Reply? {
        if let left = fuse {
            fuse = left - 1
            if left <= 0, power == .on { power = .frozen }
        }
        switch power {
        case .frozen:
            held.append((request.unique, request.opcode == .write))
            return nil
        case .off: return Fuse.Reply(to: request.unique, error: EIO)
        case .on: break
        }
        var reply = Fuse.Reply(to: request.unique)
        switch request.opcode {
        case .read:
            let bytes = image.read(request.offset, request.count)
            reply = Fuse.Reply(to: request.unique, capacity: bytes.count)
            reply.append(bytes)
        case .write:
            let bytes = UnsafeRawBufferPointer(rebasing: request.written.prefix(request.count))
            if failsContents, Self.isContent(bytes) {
                failedWrites += 1
                return Fuse.Reply(to: request.unique, error: EIO)
            }
            guard image.write(bytes, at: request.offset) else {
                return Fuse.Reply(to: request.unique, error: ENOSPC)
            }
            writes += 1
            reply.append(UInt32(bytes.count))
            reply.append(UInt32(0))
        default:
            image.flush()
            flushes += 1
        }
        return reply
    }

    /// Distinguishes pictures and text from the file system's own blocks, which consist mostly of zeros.
    private static func isContent(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let block = bytes.prefix(4096)
        return block.count { $0 == 0 } * 20 < block.count
    }

    // MARK: Temporary failures

    /// Makes writes of file contents fail until ``mendContents()``. Writes of the file system's own blocks still
    /// succeed, because a file system that cannot write its journal shuts down until the next mount.
    func failContents() { lock.withLock { failsContents = true } }

    func mendContents() { lock.withLock { failsContents = false } }

    // MARK: Power cuts

    /// Cuts the power before the n-th request from now on.
    func blowFuse(after requests: Int) { lock.withLock { fuse = requests } }

    var isFrozen: Bool { lock.withLock { power == .frozen } }

    /// Silently stops the disk: no request reaches it, and no request fails.
    func freeze() {
        lock.withLock { if power == .on { power = .frozen } }
    }

    /// Fails all requests, including held ones, so that programs and the kernel release the disk. Kill the programs
    /// that must not see these errors first.
    func fail() {
        let (waiting, connection) = lock.withLock {
            power = .off
            defer { held = [] }
            neverAnswered += held.count { $0.isWrite }
            return (held, self.connection)
        }
        for request in waiting { send(Fuse.Reply(to: request.unique, error: EIO), connection) }
    }

    /// Loses the given share of the write cache.
    /// - Returns: The number of writes that no flush had covered.
    func lose(_ share: Double, random: inout SeededRandom) -> Int {
        lock.withLock {
            let count = image.unflushedCount + neverAnswered
            neverAnswered = 0
            image.cut(losing: share, random: &random)
            return count
        }
    }
}

import CTunnel
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage

/// A link between two new network namespaces on this machine: a TUN device at each end, and a thread that carries the
/// packets, limits their rate, delays and loses them.
///
/// Needs no packet scheduler of the kernel (`sch_netem` is missing on many machines). Needs root, /dev/net/tun and
/// ip(8). No packet leaves this machine: the namespaces have no other device but loopback. They end with the last
/// descriptor. Not thread-safe: programs start in the namespace of the calling thread.
final class LongLink {
    /// The server's address.
    static let serverAddress = "10.213.7.2"
    private static let clientAddress = "10.213.7.1"
    private static let device = "long0"

    private let home: FileDescriptor
    private let client: FileDescriptor
    private let server: FileDescriptor
    private let carrier: PacketCarrier

    /// - Throws: `Failure` that says what this machine lacks.
    init(_ shape: LinkShape) throws {
        guard geteuid() == 0 else { throw Failure("a long link needs root, for network namespaces and a TUN device") }
        let ip = try Programs.find("ip")
        let home = try Self.currentNetwork()
        defer { _ = outbox_enter_network(home.rawValue) }
        self.home = home
        let (client, near) = try Self.makeEnd(Self.clientAddress, ip: ip)
        let (server, far) = try Self.makeEnd(Self.serverAddress, ip: ip)
        self.client = client
        self.server = server
        carrier = PacketCarrier(near, far, shape)
        carrier.start()
    }

    deinit {
        carrier.stop()
        for descriptor in [client, server, home] { try? descriptor.close() }
    }

    /// Runs work in the client's namespace.
    func atClient<Result>(_ work: () throws -> Result) throws -> Result { try inside(client, work) }

    /// Runs work in the server's namespace.
    func atServer<Result>(_ work: () throws -> Result) throws -> Result { try inside(server, work) }

    private func inside<Result>(_ network: FileDescriptor, _ work: () throws -> Result) throws -> Result {
        guard outbox_enter_network(network.rawValue) == 0 else { throw Failure.system("setns") }
        defer { _ = outbox_enter_network(home.rawValue) }
        return try work()
    }

    /// Makes a namespace with one end of the link, and stays there.
    private static func makeEnd(_ address: String, ip: String) throws -> (FileDescriptor, FileDescriptor) {
        guard outbox_new_network() == 0 else { throw Failure.system("a network namespace") }
        let tunnel = outbox_open_tunnel(device)
        guard tunnel >= 0 else { throw Failure.system("a TUN device (/dev/net/tun)") }
        for arguments in [
            ["link", "set", "lo", "up"], ["addr", "add", "\(address)/24", "dev", device],
            ["link", "set", device, "up"],
        ] {
            _ = try ChildProcess(ip, arguments, log: "/dev/null").finish(within: .seconds(10))
        }
        return (try currentNetwork(), FileDescriptor(rawValue: tunnel))
    }

    private static func currentNetwork() throws -> FileDescriptor {
        try FileDescriptor.open("/proc/thread-self/ns/net", .readOnly, options: .closeOnExec)
    }
}

/// The thread that carries packets between two TUN devices.
private final class PacketCarrier: Sendable {
    private let near: FileDescriptor
    private let far: FileDescriptor
    private let shape: LinkShape
    private let thread = SerialThread(name: "link")
    private let isStopping = Atomic(false)
    private let end = Countdown(1)

    init(_ near: FileDescriptor, _ far: FileDescriptor, _ shape: LinkShape) {
        self.near = near
        self.far = far
        self.shape = shape
    }

    func start() { thread.run { [self] in carry() } }

    /// Stops the thread and removes the devices.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        end.wait()
        try? near.close()
        try? far.close()
    }

    private func carry() {
        var there = PacketQueue(shape, seed: 1)
        var back = PacketQueue(shape, seed: 2)
        while !isStopping.load(ordering: .relaxed) {
            let now = Self.nanoseconds()
            Self.move(from: near, through: &there, to: far, at: now)
            Self.move(from: far, through: &back, to: near, at: now)
            let due = min(there.nextDue ?? .max, back.nextDue ?? .max)
            let later = Self.nanoseconds()
            outbox_wait_readable(near.rawValue, far.rawValue, Int64(min(due > later ? due - later : 0, 100_000_000)))
        }
        end.step()
    }

    private static func move(
        from source: FileDescriptor, through queue: inout PacketQueue, to target: FileDescriptor, at now: UInt64
    ) {
        for _ in 0..<64 {
            let space = queue.space
            let count = read(source.rawValue, space.baseAddress, space.count)
            if count <= 0 { break }
            queue.add(count, at: now)
        }
        while let packet = queue.next(at: now) { _ = write(target.rawValue, packet.baseAddress, packet.count) }
    }

    private static func nanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

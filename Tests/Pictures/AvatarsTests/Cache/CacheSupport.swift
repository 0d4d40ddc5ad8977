import Glibc
import LinuxSystem
import Logging
import MediaTools
import PictureJobs
import Synchronization
import TestSupport
import Testing
import Transport
import UploadCore

@testable import Avatars

/// A fake picture worker. Counts jobs, and "draws" by writing the style and a checksum of the picture.
final class CountingPictures: PictureWorking {
    struct State {
        var measured = 0
        var drawn: [String] = []
        var failure: PictureFailure?
        var drawFailure: PictureFailure?
        /// Runs before each drawing.
        var beforeDrawing: (@Sendable () throws -> Void)?
        /// The first bytes of every drawn picture: the signature of a PNG.
        var head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    }

    let state = Mutex(State())

    init(failure: PictureFailure? = nil, drawFailure: PictureFailure? = nil) {
        state.withLock { $0 = State(failure: failure, drawFailure: drawFailure) }
    }

    var drawn: [String] { state.withLock { $0.drawn } }

    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor?,
        maximumPixels: Int
    ) async throws(PictureFailure) -> PictureFacts {
        let failure = state.withLock { state -> PictureFailure? in
            if case .draw(let steps) = operation {
                state.drawn.append(steps.joined(separator: "|"))
                return state.failure ?? state.drawFailure
            }
            state.measured += 1
            return state.failure
        }
        if let failure { throw failure }
        let step = state.withLock(\.beforeDrawing)
        if case .draw(let steps) = operation, let output {
            do {
                try step?()
                try writeAll(state.withLock(\.head) + Array("\(steps) of \(picture.head)".utf8), to: output.rawValue)
            } catch {
                throw .failed("\(error)")
            }
        }
        return PictureFacts(width: 640, height: 480)
    }
}

extension SharedDescriptor {
    /// A checksum of the first 4096 bytes, which distinguishes pictures.
    fileprivate var head: Int {
        var sum = 0
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = (try? buffer.withUnsafeMutableBytes { try read(into: $0, at: 0) }) ?? 0
        for byte in buffer[..<count] { sum = (sum &* 31 &+ Int(byte)) & 0xFFFF_FFFF }
        return sum
    }
}

/// A clock that a test advances. Sleeping on the clock lasts until the end of the test.
final class ManualClock: Sendable {
    private let offset = Mutex(Duration.zero)

    func advance(by duration: Duration) { offset.withLock { $0 += duration } }

    var clock: AvatarClock {
        AvatarClock(
            now: { [self] in
                let passed = offset.withLock { $0 }
                return Now(
                    monotonic: MonotonicTime(nanoseconds: 1_000_000_000) + passed,
                    wall: WallTime(milliseconds: 1_800_000_000_000).advanced(by: passed))
            },
            sleep: { _ in try await Task.sleep(for: .seconds(3600)) })
    }
}

/// Warns of low memory when a test says so.
final class ScriptedPressure: MemoryPressureSource {
    let description = "a test"
    private let listeners = Mutex<[AsyncStream<Void>.Continuation]>([])

    func warnings() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        listeners.withLock { $0.append(continuation) }
        return stream
    }

    var isHeard: Bool { listeners.withLock { !$0.isEmpty } }

    func warn() { listeners.withLock { for listener in $0 { listener.yield() } } }
}

/// Threads wait at the gate until a test opens it.
final class Gate: Sendable {
    private let isOpen = Atomic(false)

    func open() { isOpen.store(true, ordering: .releasing) }

    func wait() { while !isOpen.load(ordering: .acquiring) { usleep(1000) } }
}

/// A cache with its server, transport, store and other surroundings.
final class Bench: Sendable {
    let server: ScriptedServer
    let transport: CurlTransport
    let store: any AvatarStore
    let pictures: CountingPictures
    let clock = ManualClock()
    let pressure = ScriptedPressure()
    let cache: AvatarCache
    let events: @Sendable () -> [AvatarEvent]

    init(
        _ server: ScriptedServer, store: any AvatarStore = MemoryAvatarStore(), pictures: CountingPictures = .init(),
        background: CountingPictures? = nil, options: AvatarOptions = AvatarOptions(),
        policy: AddressPolicy = AddressPolicy(allowsPrivate: true)
    ) throws {
        self.server = server
        self.store = store
        self.pictures = pictures
        transport = try CurlTransport()
        let log = EventLog()
        events = { log.events.withLock { $0 } }
        cache = AvatarCache(
            store: store, fetcher: CurlFetcher(transport: transport, policy: policy), pictures: pictures,
            background: background,
            options: options, clock: clock.clock, pressure: pressure,
            onEvent: { event in log.events.withLock { $0.append(event) } }, logger: Logger(label: "test"))
    }

    deinit {
        transport.shutdown()
        server.stop()
    }

    private final class EventLog: Sendable {
        let events = Mutex<[AvatarEvent]>([])
    }

    func address(_ path: String) throws -> AvatarAddress { try AvatarAddress(server.url + path) }

    /// Asks for a picture and returns the failure; nil if the cache delivers the picture.
    func failure(_ path: String, _ style: PictureStyle = .original) async throws -> AvatarFailure? {
        let address = try address(path)
        do throws(AvatarFailure) {
            _ = try await cache.picture(address, style)
            return nil
        } catch {
            return error
        }
    }

    func picture(_ path: String, _ style: PictureStyle = .original) async throws -> AvatarPicture {
        try await cache.picture(try address(path), style)
    }
}

/// A small PNG, different for each seed.
func png(_ seed: UInt64 = 1, size: Int = 3000) -> [UInt8] { SampleMedia.png.bytes(size: size, seed: seed) }

extension ScriptedServer {
    /// Answers every request with one picture.
    static func serving(_ body: [UInt8] = png(), _ headers: [(String, String)] = []) throws -> ScriptedServer {
        try ScriptedServer { _ in .response(status: 200, headers: headers, body: body) }
    }
}

extension PictureStyle {
    static func rect(_ side: Int) -> PictureStyle { PictureStyle(.rect(width: side, height: side)) }
}

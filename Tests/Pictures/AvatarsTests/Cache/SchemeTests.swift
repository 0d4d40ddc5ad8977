import HTTPTypes
import LinuxSystem
import Logging
import PictureJobs
import Synchronization
import TestSupport
import Testing

@testable import Avatars

/// Answers with a different picture for each scheme, and records all requests. A test can make https unreachable.
private final class SchemeFetcher: AvatarFetching {
    struct State {
        var requests: [AvatarRequest] = []
        var isSecureOneAway = false
        /// If set, downloads over http wait until the gate opens.
        var gate: Gate?
    }

    static let plain = png(1)
    static let secure = png(2)
    let state = Mutex(State())

    var urls: [String] { state.withLock { $0.requests.map(\.url) } }

    func fetch(
        _ request: AvatarRequest, into draft: SharedDescriptor
    ) async throws(AvatarFetchError) -> AvatarAnswer {
        let isSecure = request.url.hasPrefix("https:")
        let (isAway, gate) = state.withLock { state in
            state.requests.append(request)
            return (isSecure && state.isSecureOneAway, isSecure ? nil : state.gate)
        }
        if let gate { await onThread { gate.wait() } }
        if isAway { throw .failed(.notItsFault, "its server is away") }
        do {
            try writeAll(isSecure ? Self.secure : Self.plain, to: draft.rawValue)
        } catch {
            throw .storage("\(error)")
        }
        let fields: HTTPFields = [.eTag: "\"one\"", .cacheControl: "max-age=86400"]
        return AvatarAnswer(content: .body(length: UInt64(Self.plain.count)), fields: fields)
    }
}

/// Runs blocking work on a new thread.
private func onThread(_ work: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        startThread(name: "waiting") {
            work()
            continuation.resume()
        }
    }
}

/// One picture under an http and an https URL, which share one entry of the mirror.
@Suite(.timeLimit(.minutes(2)))
struct SchemeTests {
    private let fetcher = SchemeFetcher()
    private let cache: AvatarCache
    private let plain: AvatarAddress
    private let secure: AvatarAddress

    init() throws {
        cache = AvatarCache(
            store: MemoryAvatarStore(), fetcher: fetcher, pictures: CountingPictures(), options: AvatarOptions(),
            clock: ManualClock().clock, pressure: ScriptedPressure(), onEvent: { _ in }, logger: Logger(label: "test"))
        plain = try AvatarAddress("http://h/a.png")
        secure = try AvatarAddress("https://h/a.png")
    }

    @Test func `what came over http is stale for an https address, and not asked about by its tag`() async throws {
        #expect(try await cache.picture(plain, .original).bytes == SchemeFetcher.plain)
        #expect(try await cache.picture(secure, .original).bytes == SchemeFetcher.secure)
        #expect(fetcher.urls == [plain.url, secure.url])
        #expect(fetcher.state.withLock { $0.requests.map(\.entityTag) } == [nil, nil])
        // From now on both addresses show the same picture.
        for address in [plain, secure] {
            #expect(try await cache.picture(address, .original).bytes == SchemeFetcher.secure)
        }
        #expect(fetcher.urls.count == 2)
    }

    @Test func `what came over http is shown for an https address whose server can't be asked`() async throws {
        fetcher.state.withLock { $0.isSecureOneAway = true }
        _ = try await cache.picture(plain, .original)
        #expect(try await cache.picture(secure, .original).bytes == SchemeFetcher.plain)
        #expect(fetcher.urls == [plain.url, secure.url])
    }

    @Test func `who asks for an https address joins no download over http`() async throws {
        let gate = Gate()
        fetcher.state.withLock { $0.gate = gate }
        let first = Task { [cache, plain] in try await cache.picture(plain, .original).bytes }
        try await Poll.until("the download") { fetcher.urls.count == 1 }
        let second = Task { [cache, secure] in try await cache.picture(secure, .original).bytes }
        try await Poll.until("both to wait") { await cache.waiters.count == 2 }
        gate.open()
        _ = try await first.value
        #expect(try await second.value == SchemeFetcher.secure)
        #expect(fetcher.urls == [plain.url, secure.url])
    }
}

import Synchronization
import Testing
import UploadCore

@testable import Remotes

@Suite("Groups of fragments")
struct FragmentGroupsTests {
    @Test(
        "a group is at most half of all fragments, and no more than the server takes or a large fragment holds; an eighth over a long link",
        arguments: [
            (waiting: 1, size: 1, most: 8, underWay: 0, isLong: false, count: 1),
            (waiting: 1, size: 1, most: 8, underWay: 1, isLong: false, count: 1),
            (waiting: 1, size: 1, most: 8, underWay: 3, isLong: false, count: 0),
            (waiting: 2, size: 1, most: 8, underWay: 3, isLong: false, count: 2),
            (waiting: 5, size: 1, most: 8, underWay: 0, isLong: false, count: 2),
            (waiting: 20, size: 1, most: 8, underWay: 4, isLong: false, count: 8),
            (waiting: 7, size: 1, most: 8, underWay: 100, isLong: false, count: 0),
            (waiting: 20, size: 131_072, most: 8, underWay: 20, isLong: false, count: 4),
            (waiting: 20, size: 65_536, most: 16, underWay: 20, isLong: false, count: 8),
            (waiting: 4, size: 131_072, most: 8, underWay: 20, isLong: false, count: 0),
            (waiting: 0, size: 1, most: 8, underWay: 0, isLong: false, count: 0),
            (waiting: 3, size: 1, most: 8, underWay: 29, isLong: true, count: 0),
            (waiting: 4, size: 1, most: 8, underWay: 28, isLong: true, count: 4),
            (waiting: 5, size: 1, most: 8, underWay: 0, isLong: true, count: 1),
        ])
    func size(waiting: Int, size: Int, most: Int, underWay: Int, isLong: Bool, count: Int) {
        let sizes = [UInt64](repeating: UInt64(size), count: waiting)
        #expect(
            FragmentGroups.groupSize(sizes, most: most, bytes: 512 << 10, underWay: underWay, isLong: isLong) == count)
    }

    @Test(
        "a group holds no more bytes than it may, but one fragment always",
        arguments: [
            (sizes: [512, 512, 512, 512, 512], bytes: 2048, underWay: 8, count: 4),
            (sizes: [512, 512, 512, 512], bytes: 2048, underWay: 4, count: 4),
            (sizes: [512, 512, 512], bytes: 2048, underWay: 5, count: 0),
            (sizes: [1, 512, 512, 512, 512], bytes: 2048, underWay: 4, count: 4),
            (sizes: [512, 512, 512, 512], bytes: 512, underWay: 4, count: 1),
            (sizes: [512], bytes: 100, underWay: 0, count: 1),
            (sizes: [512, 1, 1, 1], bytes: 100, underWay: 4, count: 1),
        ])
    func bytes(sizes: [UInt64], bytes: UInt64, underWay: Int, count: Int) {
        #expect(
            FragmentGroups.groupSize(sizes, most: 16, bytes: bytes, underWay: underWay, isLong: false) == count)
    }

    @Test("sends fragments together that come while the server is busy, each once")
    func together() async throws {
        let server = HeldServer()
        let groups = makeGroups()
        let content = try TestContent(1, size: 100)
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<40 {
                tasks.addTask {
                    let outcome = await send(content, number, groups, to: server)
                    if case .failure(let failure) = outcome { Issue.record("\(number) failed: \(failure)") }
                }
            }
            await server.wait(forRequests: 5)
            server.open()
        }
        let requests = server.requests
        #expect(requests.flatMap(\.self).sorted() == (0..<40).map(name).sorted())
        #expect(requests.allSatisfy { (1...4).contains($0.count) })
        #expect(requests.contains { $0.count == 4 })
    }

    @Test("takes only small files, and none before the server announces that it takes groups")
    func takes() throws {
        let groups = FragmentGroups(executor: nil)
        let small = try TestContent(1, size: 131_072).fragment(0, id: "43")
        #expect(!groups.takes(small))
        groups.setMost(fragments: 4, bytes: nil)
        #expect(groups.takes(small))
        for fragment in try largeFragments() + [TestContent(1, size: 524_289).fragment(1, id: "43")] {
            groups.learn(from: .success(()), of: [fragment], took: .zero, underWay: 524_288)
            #expect(!groups.takes(fragment))
        }
        groups.setMost(fragments: 4, bytes: -1)
        #expect(!groups.takes(small))
        groups.setMost(fragments: nil, bytes: 2 << 20)
        #expect(!groups.takes(small))
    }

    @Test("takes large fragments if the server takes as many bytes and the link is quick")
    func takesLarge() throws {
        let groups = FragmentGroups(executor: nil)
        let small = try TestContent(1, size: 131_072).fragment(0, id: "43")
        let large = try largeFragments()
        groups.setMost(fragments: 4, bytes: 2 << 20)
        func takesLarge() -> Bool { large.allSatisfy(groups.takes) }
        func learn(_ outcome: FragmentGroups.Outcome, _ fragments: [OutgoingFragment], _ took: Int, _ underWay: Int) {
            groups.learn(from: outcome, of: fragments, took: .milliseconds(took), underWay: UInt64(underWay))
        }
        learn(.success(()), [small], 0, 131_072)
        #expect(!takesLarge())
        learn(.success(()), [large[0]], 19, 524_288)
        #expect(takesLarge())
        // The end of a large file.
        #expect(try groups.takes(TestContent(1, size: 524_289).fragment(1, id: "43")))
        learn(.success(()), [large[0], small, small], 21, 524_288)
        #expect(!takesLarge())
        learn(.success(()), [large[1]], 159, 8 * 524_288)
        #expect(takesLarge())
        learn(.failure(.forgotten), large, 0, 524_288)
        #expect(takesLarge())
        learn(.failure(Self.noLink), [small], 0, 524_288)
        #expect(!takesLarge())
        learn(.success(()), large, 0, 524_288)
        #expect(takesLarge())
        // The server or a proxy may take no large groups.
        learn(.failure(Self.noLink), large + large, 0, 524_288)
        learn(.success(()), [large[0]], 0, 524_288)
        #expect(!takesLarge())
        #expect(groups.takes(small))
    }

    @Test("counts only what is under way against the time of a request")
    func underWay() async throws {
        let groups = FragmentGroups(executor: nil)
        groups.setMost(fragments: 4, bytes: 2 << 20)
        let large = try TestContent(1, size: 524_288).fragment(0, id: "43")
        // A request takes three times as long as on a quick link, so eight at once would look quick.
        for _ in 0..<8 {
            _ = await groups.send(large) { _ in
                try? await Task.sleep(for: .milliseconds(60))
                return .success(())
            }
            #expect(!groups.takes(large))
        }
    }

    /// Fragments too large for a group over a usual link.
    private func largeFragments() throws -> [OutgoingFragment] {
        try [131_073, 524_288].map { try TestContent(1, size: $0).fragment(0, id: "43") }
    }

    @Test("sends up to four large fragments together, or 512 KiB of small files, each once")
    func largeTogether() async throws {
        for size in [524_288, 131_072] {
            let server = HeldServer()
            let (outcomes, _) = try await sendTen(to: server, size: size, most: 16)
            #expect(outcomes.allSatisfy { if case .success = $0 { true } else { false } })
            #expect(server.requests.flatMap(\.self).sorted() == (0..<10).map(name).sorted())
            #expect(server.requests.allSatisfy { $0.count <= 4 })
        }
    }

    @Test("if a proxy refuses a group of large fragments, sends each alone at once, and further small files together")
    func largeRefused() async throws {
        let page = FileError(code: "bad_reply", message: "a page", retryable: true)
        let server = HeldServer { $0.count > 1 ? .failure(.temporary(page, outlook: .lasting)) : .success(()) }
        let (outcomes, groups) = try await sendTen(to: server, size: 524_288)
        #expect(outcomes.allSatisfy { if case .success = $0 { true } else { false } })
        #expect(try largeFragments().allSatisfy { !groups.takes($0) })
        #expect(try groups.takes(TestContent(1, size: 1).fragment(0, id: "43")))
    }

    @Test("after a refused group sends each fragment alone, and no further groups")
    func refused() async throws {
        let refusal = RemoteFailure.permanent(FileError(code: "refused", message: "no", retryable: false))
        let server = HeldServer { $0.count > 1 ? .failure(refusal) : .success(()) }
        let (outcomes, groups) = try await sendTen(to: server)
        #expect(outcomes.allSatisfy { if case .success = $0 { true } else { false } })
        #expect(try !groups.takes(TestContent(1, size: 1).fragment(0, id: "43")))
    }

    @Test("if the server forgot one upload of a group, only this one fails")
    func forgotten() async throws {
        let server = HeldServer { $0.contains(name(7)) ? .failure(.forgotten) : .success(()) }
        let (outcomes, groups) = try await sendTen(to: server)
        let failed = outcomes.indices.filter { if case .failure = outcomes[$0] { true } else { false } }
        #expect(failed == [7])
        #expect(try groups.takes(TestContent(1, size: 1).fragment(0, id: "43")))
    }

    @Test("if the link breaks, all fragments of the group fail, and none is sent again at once")
    func broken() async throws {
        for size in [100, 524_288] {
            let server = HeldServer { _ in .failure(Self.noLink) }
            let (outcomes, _) = try await sendTen(to: server, size: size)
            #expect(outcomes.allSatisfy { if case .failure(Self.noLink) = $0 { true } else { false } })
            #expect(server.requests.flatMap(\.self).count == 10)
        }
    }

    @Test("if a fragment of a refused group meets a refused token, the others are not sent")
    func stopped() async throws {
        let failure = RemoteFailure.signedOut(FileError(code: "signed_out", message: "no", retryable: true))
        let server = HeldServer { .failure($0.count > 1 ? .forgotten : failure) }
        let (outcomes, _) = try await sendTen(to: server)
        #expect(outcomes.allSatisfy { if case .failure(failure) = $0 { true } else { false } })
        let groups = server.requests.filter { $0.count > 1 }
        let alone = server.requests.count - groups.count
        #expect(alone == 10 - groups.flatMap(\.self).count + groups.count)
    }

    @Test("sends waiting fragments after a while, even if no request ends")
    func overdue() async throws {
        let server = HeldServer()
        let groups = makeGroups(longestWait: .milliseconds(1))
        let content = try TestContent(1, size: 100)
        let tasks = (0..<10).map { number in Task { await send(content, number, groups, to: server) } }
        await server.wait(forFragments: 10)
        server.open()
        for task in tasks { if case .failure(let failure) = await task.value { Issue.record("\(failure)") } }
        #expect(server.requests.flatMap(\.self).count == 10)
    }

    @Test("a cancelled fragment leaves the others of its request alone; without any, the request is cancelled")
    func cancelled() async throws {
        let server = HeldServer()
        let groups = makeGroups()
        let content = try TestContent(1, size: 100)
        var tasks: [Task<FragmentGroups.Outcome, Never>] = []
        for number in 0..<5 {
            // Three are sent alone, two together.
            if number < 4 { await server.wait(forFragments: number) }
            tasks.append(Task { await send(content, number, groups, to: server) })
        }
        await server.wait(forFragments: 5)
        let pair = try #require(server.requests.first { $0.count == 2 })
        let numbers = pair.compactMap { id in (0..<5).first { name($0) == id } }
        tasks[numbers[0]].cancel()
        #expect(isCancelled(await tasks[numbers[0]].value))
        #expect(server.cancelled.isEmpty)
        tasks[numbers[1]].cancel()
        #expect(isCancelled(await tasks[numbers[1]].value))
        await server.wait(forCancelled: pair)
        server.open()
        for number in 0..<5 where !numbers.contains(number) {
            if case .failure(let failure) = await tasks[number].value { Issue.record("\(number) failed: \(failure)") }
        }
    }

    private static let noLink = RemoteFailure.temporary(
        FileError(code: "unreachable", message: "gone", retryable: true), outlook: .away)

    /// Groups for a server that answers at once.
    private func makeGroups(longestWait: Duration = .seconds(3600), most: Int = 4) -> FragmentGroups {
        let groups = FragmentGroups(executor: nil, longestWait: longestWait)
        groups.setMost(fragments: most, bytes: 2 << 20)
        groups.learn(from: .success(()), of: [], took: .zero, underWay: 0)
        return groups
    }

    /// Sends ten fragments while the server is busy, then lets it answer.
    private func sendTen(
        to server: HeldServer, size: Int = 100, most: Int = 4
    ) async throws -> ([FragmentGroups.Outcome], FragmentGroups) {
        let groups = makeGroups(most: most)
        let content = try TestContent(1, size: size)
        // The link is quick.
        groups.learn(from: .success(()), of: [try content.fragment(0, id: "43")], took: .zero, underWay: 524_288)
        let tasks = (0..<10).map { number in Task { await send(content, number, groups, to: server) } }
        await server.wait(forFragments: 5)
        server.open()
        var outcomes: [FragmentGroups.Outcome] = []
        for task in tasks { outcomes.append(await task.value) }
        #expect(server.requests.contains { $0.count > 1 })
        return (outcomes, groups)
    }

    private func isCancelled(_ outcome: FragmentGroups.Outcome) -> Bool {
        if case .failure(.cancelled) = outcome { true } else { false }
    }
}

private func name(_ number: Int) -> String { "id-\(number)" }

private func send(
    _ content: TestContent, _ number: Int, _ groups: FragmentGroups, to server: HeldServer
) async -> FragmentGroups.Outcome {
    do {
        let fragment = try content.fragment(0, id: RemoteHandle(id: name(number)))
        return await groups.send(fragment) { await server.take($0.map(\.upload.handle.id)) }
    } catch {
        Issue.record("\(error)")
        return .failure(.cancelled)
    }
}

/// A server that answers once it is opened.
private final class HeldServer: Sendable {
    private struct State {
        var requests: [[String]] = []
        var cancelled: [[String]] = []
        var isOpen = false
    }

    private let state = Mutex(State())
    private let verdict: @Sendable ([String]) -> FragmentGroups.Outcome

    init(_ verdict: @escaping @Sendable ([String]) -> FragmentGroups.Outcome = { _ in .success(()) }) {
        self.verdict = verdict
    }

    /// The ids in each request.
    var requests: [[String]] { state.withLock { $0.requests } }
    /// The ids in each cancelled request.
    var cancelled: [[String]] { state.withLock { $0.cancelled } }

    func open() { state.withLock { $0.isOpen = true } }

    func take(_ ids: [String]) async -> FragmentGroups.Outcome {
        state.withLock { $0.requests.append(ids) }
        while !state.withLock({ $0.isOpen }) {
            if Task.isCancelled {
                state.withLock { $0.cancelled.append(ids) }
                return .failure(.cancelled)
            }
            await pause()
        }
        return verdict(ids)
    }

    func wait(forRequests count: Int) async { while requests.count < count { await pause() } }

    func wait(forFragments count: Int) async { while requests.flatMap(\.self).count < count { await pause() } }

    func wait(forCancelled ids: [String]) async { while !cancelled.contains(ids) { await pause() } }

    private func pause() async { try? await Task.sleep(for: .milliseconds(1)) }
}

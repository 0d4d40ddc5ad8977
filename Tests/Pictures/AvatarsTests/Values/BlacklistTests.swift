import Testing
import UploadCore

@testable import Avatars

struct `The blacklist` {
    private static func now(_ seconds: Int64) -> Now {
        Now(
            monotonic: MonotonicTime(nanoseconds: UInt64(seconds) * 1_000_000_000),
            wall: WallTime(milliseconds: 1_700_000_000_000 + seconds * 1000))
    }

    private static func address() throws -> AvatarAddress { try AvatarAddress("http://h/a") }

    /// Each fault, its code, and how many seconds the cache avoids the URL, with a pause of ten minutes.
    @Test(arguments: [
        (AvatarFault(status: 404, retryAfter: nil), "not_found", 600),
        (AvatarFault(status: 410, retryAfter: nil), "gone", 600),
        (AvatarFault(status: 401, retryAfter: nil), "refused", 600),
        (AvatarFault(status: 403, retryAfter: nil), "refused", 600),
        (AvatarFault(status: 451, retryAfter: .seconds(5)), "refused", 600),
        (AvatarFault(status: 204, retryAfter: nil), "bad_redirect", 600),
        (AvatarFault(status: 300, retryAfter: nil), "bad_redirect", 600),
        (AvatarFault.notAPicture, "not_a_picture", 600), (.tooLarge, "too_large", 600),
        (.tooManyPixels, "too_many_pixels", 600), (.killedWorker, "killed_worker", 600),
        (.badRedirect, "bad_redirect", 600), (.notItsFault, "unreachable", 0),
        (AvatarFault(status: 408, retryAfter: nil), "server_busy", 0),
        (AvatarFault(status: 425, retryAfter: nil), "server_busy", 0),
        (AvatarFault(status: 429, retryAfter: nil), "server_busy", 0),
        (AvatarFault(status: 500, retryAfter: nil), "server_busy", 0),
        (AvatarFault(status: 503, retryAfter: .seconds(30)), "server_busy", 30),
        (AvatarFault(status: 429, retryAfter: .seconds(86_400)), "server_busy", 600),
        (AvatarFault(status: 503, retryAfter: .zero), "server_busy", 0),
        (AvatarFault(status: 503, retryAfter: .milliseconds(500)), "server_busy", 0),
    ])
    func `each fault has its time`(fault: AvatarFault, code: String, seconds: Int64) throws {
        var list = Blacklist(pause: .seconds(600))
        let address = try Self.address()
        #expect(fault.code == code)
        let until = list.note(fault, "it failed", of: address, now: Self.now(100))
        #expect(until == (seconds == 0 ? nil : Self.now(100 + seconds).wall))
        guard let until else { return #expect(list.verdict(on: address, now: Self.now(100).monotonic) == nil) }
        let expected = Blacklist.Verdict(fault: fault, message: "it failed", until: until)
        #expect(list.verdict(on: address, now: Self.now(99 + seconds).monotonic) == expected)
        #expect(list.verdict(on: address, now: Self.now(100 + seconds).monotonic) == nil)
    }

    @Test func `what the URL can't help does not lift an older verdict`() throws {
        var list = Blacklist(pause: .seconds(600))
        list.note(.status(404), "not there", of: try Self.address(), now: Self.now(0))
        list.note(.notItsFault, "offline", of: try Self.address(), now: Self.now(1))
        #expect(list.verdict(on: try Self.address(), now: Self.now(2).monotonic)?.fault == .status(404))
    }

    @Test func `a pause of nothing lists nothing`() throws {
        var list = Blacklist(pause: .zero)
        #expect(list.note(.notAPicture, "text", of: try Self.address(), now: Self.now(0)) == nil)
        #expect(list.list(now: Self.now(0).monotonic).isEmpty)
    }

    @Test func `URLs can be forgotten, one or all`() throws {
        var list = Blacklist(pause: .seconds(600))
        for name in ["c", "a", "b"] {
            list.note(.tooLarge, name, of: try AvatarAddress("http://h/\(name)"), now: Self.now(0))
        }
        list.forget(try AvatarAddress("https://h/b"))
        #expect(list.list(now: Self.now(1).monotonic).map(\.verdict.message) == ["a", "c"])
        list.forgetAll()
        #expect(list.list(now: Self.now(1).monotonic).isEmpty)
    }

    @Test func `it does not grow without end`() throws {
        var list = Blacklist(pause: .seconds(600))
        for number in 0..<(Blacklist.capacity + 1) {
            list.note(.tooLarge, "", of: try AvatarAddress("http://h/\(number)"), now: Self.now(Int64(number) / 100))
        }
        let now = Self.now(Int64(Blacklist.capacity) / 100).monotonic
        #expect(list.verdict(on: try AvatarAddress("http://h/0"), now: now) == nil)
        #expect(list.verdict(on: try AvatarAddress("http://h/\(Blacklist.capacity)"), now: now) != nil)
        #expect(list.list(now: now).count == Blacklist.capacity * 9 / 10)
    }
}

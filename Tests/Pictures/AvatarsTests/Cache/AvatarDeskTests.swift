import PictureJobs
import Testing

@testable import Avatars

struct AvatarDeskTests {
    private typealias Desk = AvatarDesk
    private let one: AvatarAddress
    private let two: AvatarAddress
    private let three: AvatarAddress

    init() throws {
        one = try AvatarAddress("http://h/1")
        two = try AvatarAddress("http://h/2")
        three = try AvatarAddress("http://h/3")
    }

    private func job(_ number: UInt64) -> Desk.Job { Desk.Job(number: number) }
    private func waiter(_ number: UInt64) -> Desk.Waiter { Desk.Waiter(number: number) }
    private func wish(_ address: AvatarAddress, _ side: Int = 0) -> AvatarWish {
        AvatarWish(address: address, style: side == 0 ? .original : .rect(side))
    }

    @Test func `the second who asks for an address starts nothing`() {
        var desk = Desk(maximumDownloads: 4)
        #expect(desk.download(wish(one), for: waiter(1), isUrgent: true) == [.download(one, job(1))])
        #expect(desk.download(wish(one), for: waiter(2), isUrgent: true).isEmpty)
        #expect(desk.download(wish(one, 9), for: waiter(3), isUrgent: true).isEmpty)
        let actions = desk.downloadSucceeded(job(1), isNew: true)
        #expect(actions.count == 2)
        #expect(actions.contains(.deliver(wish(one), [waiter(1), waiter(2)])))
        #expect(actions.contains(.draw(wish(one, 9), job(2))))
        #expect(desk.drawingEnded(job(2)) == [.deliver(wish(one, 9), [waiter(3)])])
        #expect(desk.isIdle)
    }

    @Test func `each style is drawn once`() {
        var desk = Desk(maximumDownloads: 4)
        #expect(desk.draw(wish(one, 9), for: waiter(1), isUrgent: true) == [.draw(wish(one, 9), job(1))])
        #expect(desk.draw(wish(one, 9), for: waiter(2), isUrgent: true).isEmpty)
        #expect(desk.draw(wish(one, 8), for: waiter(3), isUrgent: true) == [.draw(wish(one, 8), job(2))])
        #expect(desk.drawingEnded(job(1)) == [.deliver(wish(one, 9), [waiter(1), waiter(2)])])
        #expect(desk.drawingEnded(job(2), failure: .noWorker("x")) == [.fail([waiter(3)], .noWorker("x"))])
        #expect(desk.isIdle)
    }

    @Test func `drawings beyond the limit wait, the urgent ones go first`() throws {
        var desk = Desk(maximumDownloads: 4)
        for side in 1...Desk.maximumDrawings {
            #expect(desk.draw(wish(one, side), for: waiter(UInt64(side)), isUrgent: true).count == 1)
        }
        #expect(desk.draw(wish(two, 9), for: waiter(20), isUrgent: false).isEmpty)
        #expect(desk.draw(wish(three, 9), for: waiter(21), isUrgent: true).isEmpty)
        #expect(desk.drawingEnded(job(1)).contains(.draw(wish(three, 9), job(9))))
        #expect(desk.drawingEnded(job(2)).contains(.draw(wish(two, 9), job(10))))
        #expect(desk.isUrgent(job(9)) && !desk.isUrgent(job(10)))
    }

    @Test func `who is in no hurry leaves one place to those who are`() throws {
        var desk = Desk(maximumDownloads: 2)
        #expect(desk.download(wish(one), for: waiter(1), isUrgent: false) == [.download(one, job(1))])
        #expect(desk.download(wish(two), for: waiter(2), isUrgent: false).isEmpty)
        #expect(desk.download(wish(three), for: waiter(3), isUrgent: true) == [.download(three, job(2))])
        #expect(desk.downloadFailed(job(2), .cancelled) == [.fail([waiter(3)], .cancelled)])
        #expect(desk.downloadFailed(job(1), .cancelled).contains(.download(two, job(3))))
    }

    @Test func `somebody in a hurry begins anew what was begun without haste`() {
        var desk = Desk(maximumDownloads: 4)
        #expect(desk.draw(wish(one, 9), for: waiter(1), isUrgent: false) == [.draw(wish(one, 9), job(1))])
        let actions = desk.draw(wish(one, 9), for: waiter(2), isUrgent: true)
        #expect(actions == [.stop(job(1)), .draw(wish(one, 9), job(2))])
        #expect(desk.isUrgent(job(2)))
        #expect(desk.drawingEnded(job(2)) == [.deliver(wish(one, 9), [waiter(1), waiter(2)])])
        #expect(desk.isIdle)
    }

    @Test func `who wants what is kept alone is not sent to the network`() {
        var desk = Desk(maximumDownloads: 4)
        _ = desk.draw(wish(one, 9), for: waiter(1), isUrgent: true, mayDownload: false)
        let actions = desk.contentRemoved(one)
        #expect(actions.first == .stop(job(1)))
        guard case .fail([waiter(1)], .storage) = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(desk.isIdle)
    }

    @Test func `a failed download gives what was drawn before`() {
        var desk = Desk(maximumDownloads: 4)
        _ = desk.download(wish(one), for: waiter(1), isUrgent: true)
        _ = desk.download(wish(one, 9), for: waiter(2), isUrgent: true)
        let actions = desk.downloadFailed(job(1), .unreachable("x")) { !$0.style.isOriginal }
        #expect(actions == [.deliver(wish(one, 9), [waiter(2)]), .fail([waiter(1)], .unreachable("x"))])
        #expect(desk.isIdle)
    }

    @Test func `one who gives up leaves the others theirs`() {
        var desk = Desk(maximumDownloads: 4)
        _ = desk.download(wish(one), for: waiter(1), isUrgent: true)
        _ = desk.download(wish(one, 9), for: waiter(2), isUrgent: true)
        #expect(desk.leave(waiter(2)) == [.fail([waiter(2)], .cancelled)])
        #expect(desk.downloadSucceeded(job(1), isNew: true) == [.deliver(wish(one), [waiter(1)])])
        #expect(desk.isIdle)
    }

    @Test func `when all gave up the download stops, and what it brings changes nothing`() {
        var desk = Desk(maximumDownloads: 4)
        _ = desk.download(wish(one), for: waiter(1), isUrgent: true)
        _ = desk.download(wish(one, 9), for: waiter(2), isUrgent: true)
        _ = desk.leave(waiter(1))
        #expect(desk.leave(waiter(2)) == [.fail([waiter(2)], .cancelled), .stop(job(1))])
        #expect(desk.isIdle)
        #expect(desk.downloadSucceeded(job(1), isNew: true).isEmpty)
        #expect(desk.leave(waiter(2)).isEmpty)
    }

    @Test func `when all gave up a drawing stops`() {
        var desk = Desk(maximumDownloads: 4)
        _ = desk.draw(wish(one, 9), for: waiter(1), isUrgent: true)
        #expect(desk.leave(waiter(1)) == [.fail([waiter(1)], .cancelled), .stop(job(1))])
        #expect(desk.isIdle)
    }

    @Test func `a failed download fails everybody in every style`() {
        var desk = Desk(maximumDownloads: 4)
        _ = desk.download(wish(one), for: waiter(1), isUrgent: true)
        _ = desk.download(wish(one, 9), for: waiter(2), isUrgent: true)
        #expect(desk.downloadFailed(job(1), .unreachable("x")) == [.fail([waiter(1), waiter(2)], .unreachable("x"))])
        #expect(desk.isIdle)
    }

    @Test func `downloads beyond the limit wait, the urgent ones go first`() {
        var desk = Desk(maximumDownloads: 1)
        #expect(desk.download(wish(one), for: waiter(1), isUrgent: false).count == 1)
        #expect(desk.download(wish(two), for: waiter(2), isUrgent: false).isEmpty)
        #expect(desk.download(wish(three), for: waiter(3), isUrgent: true).isEmpty)
        #expect(desk.downloadFailed(job(1), .cancelled).contains(.download(three, job(2))))
        #expect(desk.downloadFailed(job(2), .cancelled).contains(.download(two, job(3))))
    }

    @Test func `somebody in a hurry takes a patient download along`() {
        var desk = Desk(maximumDownloads: 1)
        _ = desk.download(wish(one), for: waiter(1), isUrgent: false)
        _ = desk.download(wish(two), for: waiter(2), isUrgent: false)
        _ = desk.download(wish(three), for: waiter(3), isUrgent: false)
        _ = desk.download(wish(three, 9), for: waiter(4), isUrgent: true)
        #expect(desk.downloadFailed(job(1), .cancelled).contains(.download(three, job(2))))
    }

    @Test func `a download that nobody waits for any more gives up its place in the queue`() {
        var desk = Desk(maximumDownloads: 1)
        _ = desk.download(wish(one), for: waiter(1), isUrgent: true)
        _ = desk.download(wish(two), for: waiter(2), isUrgent: true)
        #expect(desk.leave(waiter(2)) == [.fail([waiter(2)], .cancelled)])
        #expect(desk.leave(waiter(1)) == [.fail([waiter(1)], .cancelled), .stop(job(1))])
        #expect(desk.isIdle)
        #expect(desk.download(wish(three), for: waiter(3), isUrgent: true) == [.download(three, job(2))])
    }

    @Test func `new content draws again what is being drawn from the old`() {
        var desk = Desk(maximumDownloads: 4)
        _ = desk.draw(wish(one, 9), for: waiter(1), isUrgent: true)
        _ = desk.draw(wish(two, 9), for: waiter(2), isUrgent: true)
        _ = desk.download(wish(one, 9), for: waiter(3), isUrgent: true)
        let actions = desk.downloadSucceeded(job(3), isNew: true)
        #expect(actions == [.stop(job(1)), .draw(wish(one, 9), job(4))])
        #expect(desk.drawingEnded(job(1)).isEmpty)
        #expect(desk.drawingEnded(job(4)) == [.deliver(wish(one, 9), [waiter(1), waiter(3)])])
    }

    @Test func `content that was removed is downloaded for those whose drawing it was for`() {
        var desk = Desk(maximumDownloads: 4)
        _ = desk.draw(wish(one, 9), for: waiter(1), isUrgent: true)
        #expect(desk.contentRemoved(one) == [.stop(job(1)), .download(one, job(2))])
        #expect(desk.downloadSucceeded(job(2), isNew: true) == [.draw(wish(one, 9), job(3))])
        #expect(desk.drawingEnded(job(3)) == [.deliver(wish(one, 9), [waiter(1)])])
        #expect(desk.isIdle)
    }

    @Test func `content that was removed while it is asked about is asked for anew`() {
        var desk = Desk(maximumDownloads: 4)
        _ = desk.download(wish(one), for: waiter(1), isUrgent: true)
        #expect(desk.contentRemoved(one) == [.stop(job(1)), .download(one, job(2))])
        #expect(desk.downloadSucceeded(job(1), isNew: false).isEmpty)
        #expect(desk.downloadSucceeded(job(2), isNew: true) == [.deliver(wish(one), [waiter(1)])])
        #expect(desk.isIdle)
    }
}

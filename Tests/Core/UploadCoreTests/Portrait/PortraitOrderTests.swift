import Testing

@testable import UploadCore

@Suite("Order of several pictures")
struct PortraitOrderTests {
    // MARK: Hashed in another order

    @Test("an older picture with a later hash is superseded at once")
    func overtaken() {
        var life = PortraitLife()
        life(.dropped(PortraitLife.drop("small.jpg"), .arrived(2)))
        life(.prepared(1))
        life(.stored(1))
        let actions = life(.dropped(PortraitLife.drop("large.jpg", content: 2), .arrived(1)))
        #expect(PortraitLife.words(actions) == "large.jpg cancelled (superseded)")
        life(.uploaded(life.request, url: "u"))
        life(.settled)
        life(.dropped(PortraitLife.drop("huge.jpg", content: 3), .arrived(1)))
        #expect(life.report("huge.jpg")?.error?.code == "superseded")
        #expect(life.machine.newest?.drop.path == PortraitLife.path("small.jpg"))
    }

    @Test("a picture overtaken by a newer file counts only if that file is no picture", arguments: [true, false])
    func overtakenByCandidate(_ isPicture: Bool) {
        var life = PortraitLife()
        life(.dropped(PortraitLife.drop("small.jpg"), .arrived(2)))
        life(.dropped(PortraitLife.drop("large.jpg", content: 2), .arrived(1)))
        if isPicture {
            life(.prepared(1))
            life(.stored(1))
            #expect(life.report("large.jpg")?.error?.code == "superseded")
            #expect(life.machine.candidates.isEmpty)
        } else {
            life(.unfit(1, .rejected, PortraitLife.objection))
            #expect(life.machine.preparing == 2)
        }
    }

    @Test("a newer picture found by a scan keeps older ones superseded")
    func foundBetween() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.dropped(PortraitLife.drop("found.jpg", content: 2, changed: life.milliseconds), .found))
        life(.prepared(2))
        life(.stored(2))
        life(.dropped(PortraitLife.drop("old.jpg", content: 3), .arrived(0)))
        #expect(life.report("old.jpg")?.error?.code == "superseded")
    }

    @Test("after a restart every new arrival is newer than the stored picture")
    func arrivesAfterRestart() {
        var life = PortraitLife()
        for (index, name) in ["a.jpg", "b.jpg"].enumerated() { life.take(name, content: UInt64(index + 1)) }
        var next = PortraitLife(restoring: life.machine.newest)
        next(.dropped(PortraitLife.drop("c.jpg", content: 3), .arrived(1)))
        #expect(next.report("c.jpg")?.state == .queued)
    }

    // MARK: Found by a scan

    @Test("pictures found by a scan are ordered by their times of change")
    func found() {
        var life = PortraitLife()
        life(.dropped(PortraitLife.drop("new.jpg", content: 1, changed: 900), .found))
        life(.dropped(PortraitLife.drop("old.jpg", content: 2, changed: 500), .found))
        life(.dropped(PortraitLife.drop("newest.jpg", content: 3, changed: 950), .found))
        life(.prepared(1))
        life(.stored(1))
        #expect(life.report("old.jpg")?.error?.code == "superseded")
        life(.prepared(3))
        life(.stored(3))
        #expect(life.report("new.jpg")?.error?.code == "superseded")
        life(.dropped(PortraitLife.drop("between.jpg", content: 4, changed: 940), .found))
        #expect(life.report("between.jpg")?.error?.code == "superseded")
        #expect(life.machine.newest?.drop.path == PortraitLife.path("newest.jpg"))
    }

    @Test("a time in the future makes no picture the newest for ever")
    func steppedClock() {
        var life = PortraitLife()
        life.milliseconds = 9_000_000
        life.take("a.jpg")
        life.milliseconds = 1_000_000
        life(.dropped(PortraitLife.drop("b.jpg", content: 2, changed: 900_000), .found))
        #expect(life.machine.candidates.count == 1)
    }

    @Test("a finished picture found again is reported, and not sent again")
    func foundAgain() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.uploaded(life.request, url: "u"))
        life(.settled)
        guard let record = life.machine.newest else { return }
        var next = PortraitLife(restoring: record)
        #expect(next.log.isEmpty)
        var drop = record.drop
        drop.identity.changed += 1
        #expect(PortraitLife.words(next(.dropped(drop, .found))) == "a.jpg done")
        drop.identity.modified += 1
        #expect(PortraitLife.words(next(.dropped(drop, .arrived(1)))) == "a.jpg queued, prepare 2")
    }

    @Test("a picture found again as paused is held")
    func foundPaused() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.dropped(PortraitLife.drop("b.jpg", content: 2), .arrived(life.nextArrival)))
        for drop in [life.machine.newest?.drop, life.machine.candidates.last?.drop] {
            guard var drop else { continue }
            drop.isPaused = true
            life(.dropped(drop, .found))
        }
        #expect(life.report("a.jpg")?.state == .paused && life.report("b.jpg")?.state == .paused)
        #expect(life.log.contains(.cancel(life.request)))
    }
}

import Testing

@testable import UploadCore

@Suite("The life of a profile picture")
struct PortraitMachineTests {
    private func states(_ life: PortraitLife, _ name: String) -> [FileState] {
        life.log.compactMap { action in
            if case .report(let report) = action, report.path == PortraitLife.path(name) { report.state } else { nil }
        }
    }

    @Test("goes from a dropped file to a confirmed picture")
    func straightWay() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.uploaded(life.request, url: "http://h/u/1.jpg!150x150"))
        life(.settled)
        #expect(states(life, "a.jpg") == [.queued, .queued, .uploading, .verifying, .done])
        #expect(life.report("a.jpg")?.remoteURL == "http://h/u/1.jpg!150x150")
        #expect(life.report("a.jpg")?.attempts == 1)
        #expect(life.machine.newest?.fate == .done)
        #expect(life.machine.nextDeadline == nil)
    }

    @Test("is stored before it is sent, and its outcome before the report")
    func order() {
        var life = PortraitLife()
        life(.dropped(PortraitLife.drop("a.jpg"), .arrived(life.nextArrival)))
        #expect(PortraitLife.words(life(.prepared(1))) == "store 1")
        #expect(
            PortraitLife.words(life(.stored(1)))
                == "shown: a.jpg, a.jpg queued, note 1, upload 1 as #1, a.jpg uploading")
        #expect(
            PortraitLife.words(life(.uploaded(life.request, url: "u")))
                == "settle 1 done, a.jpg verifying, now: a.jpg verifying")
        #expect(PortraitLife.words(life(.settled)) == "done: a.jpg u, a.jpg done")
    }

    @Test("a newer picture stops the upload of the older one, and is sent after its end")
    func newer() {
        var life = PortraitLife()
        life.take("a.jpg")
        let first = life.request
        life.take("b.jpg", content: 2)
        #expect(life.report("a.jpg")?.state == .cancelled)
        #expect(life.report("a.jpg")?.error?.code == "superseded")
        #expect(life.log.contains(.cancel(first)))
        #expect(life.request == first)
        life(.failed(first, .cancelled))
        #expect(life.request != first)
        #expect(life.report("b.jpg")?.state == .uploading)
    }

    @Test("a late success of the older picture does not count")
    func lateSuccess() {
        var life = PortraitLife()
        life.take("a.jpg")
        let first = life.request
        life.take("b.jpg", content: 2)
        let actions = life(.uploaded(first, url: "old"))
        #expect(PortraitLife.words(actions) == "note 2, upload 2 as #2, b.jpg uploading, now: b.jpg uploading")
        life(.uploaded(life.request, url: "new"))
        life(.settled)
        #expect(life.machine.newest?.url == "new")
    }

    @Test("a file unfit for a portrait leaves the previous picture alone")
    func unfit() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.dropped(PortraitLife.drop("b.jpg", content: 2), .arrived(life.nextArrival)))
        life(.unfit(2, .rejected, FileError(code: "damaged", message: "cut off", retryable: false)))
        #expect(life.report("b.jpg")?.state == .rejected)
        #expect(life.phase == "sending")
        #expect(life.machine.newest?.id == 1)
    }

    @Test("the newest of several pictures is drawn first, and supersedes the others")
    func several() {
        var life = PortraitLife()
        for (index, name) in ["a.jpg", "b.jpg", "c.jpg"].enumerated() {
            life(.dropped(PortraitLife.drop(name, content: UInt64(index + 1)), .arrived(life.nextArrival)))
        }
        life(.prepared(1))
        life(.stored(1))
        #expect(life.machine.preparing == 3)
        life(.prepared(3))
        life(.stored(3))
        for name in ["a.jpg", "b.jpg"] { #expect(life.report(name)?.error?.code == "superseded") }
        #expect(life.machine.newest?.id == 3)
        #expect(life.machine.candidates.isEmpty)
    }

    @Test("only the new content of an overwritten file is reported")
    func overwritten() {
        var life = PortraitLife()
        life.take("a.jpg")
        life.take("a.jpg", content: 2)
        #expect(!states(life, "a.jpg").contains(.cancelled))
        life(.failed(life.request, .cancelled))
        #expect(life.report("a.jpg")?.key == ContentKey(high: 0, low: 2))
        #expect(life.report("a.jpg")?.state == .uploading)
    }

    // MARK: Trouble

    @Test("pauses grow to two minutes and never end")
    func pauses() throws {
        var life = PortraitLife()
        life.take("a.jpg")
        var last = Duration.zero
        for attempt in 1...200 {
            life(.failed(life.request, .temporary(PortraitLife.trouble)))
            let deadline = try #require(life.machine.nextDeadline)
            last = deadline - life.now.monotonic
            #expect(last <= .seconds(120))
            #expect(life.report("a.jpg")?.state == .waiting)
            life.milliseconds += last.wholeNanoseconds / 1_000_000 + 1
            life(.tick)
            #expect(life.report("a.jpg")?.attempts == attempt + 1)
        }
        #expect(last >= .seconds(90))
    }

    @Test("Retry-After is obeyed")
    func retryAfter() throws {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.failed(life.request, .temporary(PortraitLife.trouble, retryAfter: .seconds(900))))
        #expect(try #require(life.machine.nextDeadline) - life.now.monotonic == .seconds(900))
    }

    @Test("a returning network is tried at once")
    func network() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.failed(life.request, .temporary(PortraitLife.trouble)))
        life(.networkChanged)
        #expect(life.report("a.jpg")?.state == .uploading)
    }

    @Test("storing on a full disk is retried without drawing again")
    func fullDisk() throws {
        var life = PortraitLife()
        life(.dropped(PortraitLife.drop("a.jpg"), .arrived(life.nextArrival)))
        life(.prepared(1))
        life(.postponed(1, FileError(code: "storage", message: "ENOSPC", retryable: true)))
        #expect(life.report("a.jpg")?.state == .waiting)
        life.milliseconds += 5000
        #expect(PortraitLife.words(life(.tick)) == "store 1")
    }

    @Test("a failed drawing is removed and repeated")
    func undrawn() {
        var life = PortraitLife()
        life(.dropped(PortraitLife.drop("a.jpg"), .arrived(1)))
        #expect(
            PortraitLife.words(life(.postponed(1, PortraitLife.trouble))) == "scrap 1, a.jpg waiting (server_error)")
        life.milliseconds += 5000
        #expect(PortraitLife.words(life(.tick)) == "prepare 1")
    }

    @Test("a picture that kills the worker is drawn once more, and then fails")
    func killsTheWorker() {
        var life = PortraitLife()
        let error = FileError(code: "damaged", message: "SIGSEGV", retryable: false)
        life(.dropped(PortraitLife.drop("a.jpg"), .arrived(1)))
        #expect(PortraitLife.words(life(.killedWorker(1, error))) == "scrap 1, a.jpg waiting (damaged)")
        #expect(life.report("a.jpg")?.error?.retryable == true)
        life.milliseconds += 5000
        life(.tick)
        #expect(PortraitLife.words(life(.killedWorker(1, error))) == "scrap 1, a.jpg failed (damaged)")
        #expect(life.report("a.jpg")?.error == error)
    }

    @Test("an outcome that can't be stored is stored later, and reported then")
    func unsettled() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.uploaded(life.request, url: "u"))
        life(.unsettled(PortraitLife.trouble))
        life(.dropped(PortraitLife.drop("b.jpg", content: 2), .arrived(life.nextArrival)))
        life(.prepared(2))
        #expect(life.machine.newest?.id == 1)
        life.milliseconds += 5000
        #expect(PortraitLife.words(life(.tick)) == "settle 1 done")
        #expect(PortraitLife.words(life(.settled)) == "done: a.jpg u, a.jpg done, store 2")
    }

    @Test("an outcome that interrupts a pause is stored once")
    func settledOnce() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.failed(life.request, .temporary(PortraitLife.trouble)))
        #expect(PortraitLife.words(life(.signedOut)) == "settle 1 cancelled")
        life.milliseconds += 200_000
        #expect(life(.tick).isEmpty)
    }

    // MARK: Sessions

    @Test("a refused session discards pictures dropped during the session")
    func refused() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.failed(life.request, .signedOut(PortraitLife.refusal)))
        life(.settled)
        #expect(life.report("a.jpg")?.state == .cancelled)
        #expect(life.report("a.jpg")?.error?.code == "session_refused")
    }

    @Test("a picture dropped after the session was refused waits for the next login")
    func waitsForLogin() {
        var life = PortraitLife()
        life(.serverTrouble(PortraitLife.refusal))
        life.take("a.jpg")
        #expect(life.report("a.jpg")?.state == .signedOut)
        life(.credentialsChanged(account: "anna"))
        #expect(life.report("a.jpg")?.state == .uploading)
    }

    @Test("a waiting picture survives a restart, and belongs to the next account")
    func waitsOverRestart() {
        var life = PortraitLife()
        life(.serverTrouble(PortraitLife.refusal))
        life.take("a.jpg")
        var next = PortraitLife(restoring: life.machine.newest, account: "bert")
        #expect(next.report("a.jpg")?.state == .uploading)
        next(.failed(next.request, .signedOut(PortraitLife.refusal)))
        #expect(next.report("a.jpg")?.state == .signedOut)
    }

    @Test("only the newest of several waiting pictures is sent")
    func newestWaits() {
        var life = PortraitLife(account: nil)
        life(.serverTrouble(PortraitLife.refusal))
        life.take("a.jpg")
        life.take("b.jpg", content: 2)
        life(.credentialsChanged(account: "anna"))
        #expect(life.report("a.jpg")?.error?.code == "superseded")
        #expect(life.report("b.jpg")?.state == .uploading)
    }

    @Test("a login as another user discards the picture")
    func somebodyElse() {
        var life = PortraitLife()
        life.take("a.jpg")
        var next = PortraitLife(restoring: life.machine.newest, account: "bert")
        #expect(PortraitLife.words(next.log) == "settle 1 cancelled")
        next(.settled)
        #expect(next.report("a.jpg")?.error?.code == "session_refused")
    }

    @Test("a logout while the agent was down discards pictures of an account, and keeps those without an account")
    func signedOutMeanwhile() {
        var life = PortraitLife()
        life.take("a.jpg")
        var next = PortraitLife(restoring: life.machine.newest, account: nil)
        next(.settled)
        #expect(next.report("a.jpg")?.error?.code == "session_refused")
        life = PortraitLife(account: nil)
        life.take("a.jpg")
        next = PortraitLife(restoring: life.machine.newest, account: nil)
        #expect(next.report("a.jpg")?.state == .uploading)
    }

    @Test("a session that works again sends the waiting picture and later ones")
    func sessionWorks() {
        var life = PortraitLife()
        life(.serverTrouble(PortraitLife.refusal))
        life.take("a.jpg")
        life(.serverTrouble(nil))
        #expect(life.report("a.jpg")?.state == .uploading)
        life.take("b.jpg", content: 2)
        #expect(life.report("b.jpg")?.state == .queued)
        #expect(life.machine.newest?.account == "anna")
    }

    @Test("a logout discards the picture of any account")
    func signedOut() {
        for account in ["anna", nil] {
            var life = PortraitLife(account: account)
            life.take("a.jpg")
            life(.signedOut)
            life(.settled)
            #expect(life.report("a.jpg")?.error?.code == "session_refused")
            life.take("b.jpg", content: 2)
            #expect(life.report("b.jpg")?.state == .signedOut)
        }
    }

    @Test("a refusal of replaced credentials does not count")
    func oldCredentials() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.credentialsChanged(account: "anna"))
        life(.failed(life.request, .signedOut(PortraitLife.refusal)))
        #expect(life.report("a.jpg")?.state == .uploading)
    }

    @Test("a picture sent after a login belongs to that account from its first attempt")
    func adopted() {
        var life = PortraitLife(account: nil)
        life.take("a.jpg")
        life(.failed(life.request, .signedOut(PortraitLife.refusal)))
        #expect(life.report("a.jpg")?.state == .signedOut)
        life(.credentialsChanged(account: "anna"))
        life(.failed(life.request, .temporary(PortraitLife.trouble)))
        #expect(life.machine.newest?.account == "anna")
    }

    // MARK: Users

    @Test("a paused picture is shown but not sent, also after a restart")
    func paused() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.paused(PortraitLife.path("a.jpg"), true))
        #expect(life.report("a.jpg")?.state == .paused)
        life(.failed(life.request, .cancelled))
        #expect(life.machine.errand.request == nil)
        var next = PortraitLife(restoring: life.machine.newest)
        #expect(next.report("a.jpg")?.state == .paused)
        next(.paused(PortraitLife.path("a.jpg"), false))
        #expect(next.report("a.jpg")?.state == .uploading)
    }

    @Test("nothing is sent if everything is paused from the start")
    func pausedFromTheStart() {
        var life = PortraitLife()
        life.take("a.jpg")
        var next = PortraitLife(restoring: life.machine.newest, isAllPaused: true)
        #expect(next.machine.errand.request == nil)
        #expect(next.report("a.jpg")?.state == .paused)
        next(.allPaused(false))
        #expect(next.report("a.jpg")?.state == .uploading)
    }

    @Test("a late pause does not prevent the success")
    func pausedTooLate() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.allPaused(true))
        life(.uploaded(life.request, url: "u"))
        life(.settled)
        #expect(life.report("a.jpg")?.state == .done)
    }

    @Test("a picture removed before its confirmation is withdrawn")
    func removed() {
        var life = PortraitLife()
        life.take("a.jpg")
        let error = PortraitLife.removal
        life(.takenBack(PortraitLife.path("a.jpg"), PortraitLife.drop("a.jpg").key, error))
        life(.settled)
        #expect(life.report("a.jpg")?.state == .cancelled)
        #expect(life.report("a.jpg")?.error == error)
    }

    @Test("an unknown picture can also be withdrawn, and is cancelled")
    func takenBackUnknown() {
        var life = PortraitLife()
        let error = PortraitLife.removal
        let (path, key) = (PortraitLife.path("a.jpg"), ContentKey(high: 0, low: 9))
        #expect(PortraitLife.words(life(.takenBack(path, key, error))) == "a.jpg cancelled (removed)")
        life.take("a.jpg")
        let actions = life(.takenBack(path, key, error))
        #expect(PortraitLife.words(actions) == "cancel #1, settle 1 cancelled, a.jpg cancelled (removed)")
        #expect(life.report("a.jpg")?.key == key)
        life(.settled)
        #expect(life.report("a.jpg")?.key == PortraitLife.drop("a.jpg").key)
    }

    @Test("a picture withdrawn while its success is stored is done")
    func takenBackTooLate() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.uploaded(life.request, url: "u"))
        let error = PortraitLife.removal
        #expect(life(.takenBack(PortraitLife.path("a.jpg"), PortraitLife.drop("a.jpg").key, error)).isEmpty)
        life(.settled)
        #expect(life.report("a.jpg")?.state == .done)
    }

    @Test("every change of the profile picture is announced")
    func announcements() {
        var life = PortraitLife()
        let path = PortraitLife.path("a.jpg")
        func told(_ event: PortraitLife.Event) -> [String] {
            life(event).compactMap { if case .announce = $0 { PortraitLife.words([$0]) } else { nil } }
        }
        life.take("a.jpg")
        #expect(told(.failed(life.request, .temporary(PortraitLife.trouble))) == ["now: a.jpg waiting"])
        #expect(told(.paused(path, true)) == ["now: a.jpg paused"])
        #expect(told(.renamed(path, PortraitLife.path("b.jpg"))) == ["now: b.jpg paused"])
        #expect(told(.allPaused(true)).isEmpty)
        #expect(told(.paused(PortraitLife.path("b.jpg"), false)).isEmpty)
        #expect(told(.allPaused(false)) == ["now: b.jpg waiting"])
        #expect(told(.networkChanged) == ["now: b.jpg uploading"])
        #expect(told(.uploaded(life.request, url: "u")) == ["now: b.jpg verifying"])
        #expect(told(.settled) == ["done: b.jpg u"])
        life = PortraitLife(account: nil)
        life.take("c.jpg")
        #expect(told(.failed(life.request, .signedOut(PortraitLife.refusal))) == ["now: c.jpg signedOut"])
    }

    @Test("a renamed picture continues under its new name")
    func renamed() {
        var life = PortraitLife()
        life.take("a.jpg")
        life(.renamed(PortraitLife.path("a.jpg"), PortraitLife.path("b.jpg")))
        life(.uploaded(life.request, url: "u"))
        life(.settled)
        #expect(life.report("b.jpg")?.state == .done)
    }
}

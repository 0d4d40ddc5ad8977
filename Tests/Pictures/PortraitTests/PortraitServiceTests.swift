import AgentTestSupport
import Foundation
import MediaTools
import PictureJobs
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Portrait

@Suite("The portrait service", .timeLimit(.minutes(2)))
struct PortraitServiceTests {
    private let stage: PortraitStage

    init() throws { stage = try PortraitStage() }

    private func expect(_ name: String, _ state: FileState) async throws {
        try await stage.wait(for: "\(name) \(state)") { stage.report(name)?.state == state }
    }

    private func take(_ service: PortraitService, _ name: String, _ content: String) throws {
        service.handle(.dropped(try stage.drop(name, content), stage.arrive()))
    }

    @Test("a dropped picture is shown, sent, and cached under the URL cut at its last !")
    func straightWay() async throws {
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .done)
        #expect(stage.report("a.jpg")?.remoteURL == "http://h/u/1.jpg!150x150")
        #expect(stage.state.withLock(\.received) == ["jpeg of A"])
        #expect(stage.current == "jpeg of A")
        let link = try FileManager.default.destinationOfSymbolicLink(atPath: stage.avatars + "/current.jpg")
        #expect(link == stage.avatars + "/h/u/1.jpg")
        #expect(stage.state.withLock(\.pinned) == ["http://h/u/1.jpg"])
        let view = await service.profile()
        #expect(view.confirmed?.portraitURL == "http://h/u/1.jpg!150x150")
        #expect(view.pending == nil && view.current == stage.avatars + "/current.jpg")
        await service.stop()
    }

    @Test("an offline picture is shown at once, small and large, and sent when the network is back")
    func offline() async throws {
        let down = FileError(code: "no_connection", message: "refused", retryable: true)
        stage.state.withLock { $0.reply = .failure(.temporary(down)) }
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .waiting)
        #expect(stage.current == "jpeg of A")
        #expect(stage.text(stage.portrait + "/pending-150.jpg") == "thumbnail of jpeg of A")
        #expect(await service.profile().pending?.error == down)
        stage.state.withLock { $0.reply = .url("http://h/u/1.jpg") }
        service.handle(.networkChanged)
        try await expect("a.jpg", .done)
        await service.stop()
    }

    @Test("a restart continues with the accepted picture, without drawing again")
    func restart() async throws {
        stage.state.withLock { $0.reply = .hang }
        let first = stage.service()
        try take(first, "a.jpg", "A")
        try await expect("a.jpg", .uploading)
        await first.stop()
        stage.state.withLock { state in
            state.reply = .url("http://h/u/1.jpg")
            state.verdict = .fails(.unavailable("none"))
        }
        let second = stage.service()
        try await expect("a.jpg", .done)
        #expect(stage.current == "jpeg of A")
        #expect(stage.report("a.jpg")?.attempts == 2)
        await second.stop()
        let third = stage.service()
        try await stage.wait(for: "the pin") { stage.state.withLock(\.pinned.count) == 2 }
        await third.stop()
    }

    @Test("a newer picture stops the older one's upload and is sent next")
    func newer() async throws {
        stage.state.withLock { $0.reply = .hang }
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await stage.wait(for: "the first request") { stage.state.withLock(\.underWay) == 1 }
        stage.state.withLock { $0.reply = .url("http://h/u/2.jpg") }
        try take(service, "b.jpg", "B")
        try await expect("b.jpg", .done)
        #expect(stage.report("a.jpg")?.error?.code == "superseded")
        #expect(stage.state.withLock(\.received) == ["jpeg of A", "jpeg of B"])
        #expect(stage.state.withLock(\.mostUnderWay) == 1)
        #expect(stage.current == "jpeg of B")
        await service.stop()
    }

    @Test("a refusal restores the previous picture")
    func refused() async throws {
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .done)
        let refusal = FileError(code: "refused", message: "too small", retryable: false)
        stage.state.withLock { $0.reply = .failure(.permanent(refusal)) }
        try take(service, "b.jpg", "B")
        try await expect("b.jpg", .failed)
        #expect(stage.report("b.jpg")?.error == refusal)
        #expect(stage.current == "jpeg of A")
        #expect(await service.profile().confirmed?.portraitURL == "http://h/u/1.jpg!150x150")
        await service.stop()
    }

    @Test("a refused session discards the picture, and the next login sends one dropped since")
    func sessions() async throws {
        let refusal = FileError(code: "signed_out", message: "401", retryable: true)
        stage.state.withLock { $0.reply = .failure(.signedOut(refusal)) }
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .cancelled)
        #expect(stage.report("a.jpg")?.error?.code == "session_refused")
        #expect(stage.state.withLock(\.refusals) == 1)
        #expect(stage.current == nil)
        try take(service, "b.jpg", "B")
        try await expect("b.jpg", .signedOut)
        #expect(stage.current == "jpeg of B")
        stage.state.withLock { $0.reply = .url("http://h/u/1.jpg") }
        service.credentialsChanged()
        try await expect("b.jpg", .done)
        await service.stop()
    }

    @Test("a logout discards the pending picture, and one dropped later waits for a login")
    func logout() async throws {
        stage.state.withLock { $0.reply = .hang }
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .uploading)
        stage.state.withLock { $0.account = nil }
        service.handle(.signedOut)
        try await expect("a.jpg", .cancelled)
        try take(service, "b.jpg", "B")
        try await expect("b.jpg", .signedOut)
        await service.stop()
    }

    @Test("a logout while the agent was down discards the pending picture")
    func logoutMeanwhile() async throws {
        stage.state.withLock { $0.reply = .hang }
        let first = stage.service()
        try take(first, "a.jpg", "A")
        try await expect("a.jpg", .uploading)
        await first.stop()
        stage.state.withLock { $0.account = nil }
        let second = stage.service()
        try await expect("a.jpg", .cancelled)
        #expect(stage.report("a.jpg")?.error?.code == "session_refused")
        #expect(stage.current == nil)
        await second.stop()
    }

    @Test("a session that works again sends the picture that waited for a login")
    func sessionWorks() async throws {
        let service = stage.service()
        service.handle(.serverTrouble(FileError(code: "signed_out", message: "401", retryable: true)))
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .signedOut)
        service.handle(.serverTrouble(nil))
        try await expect("a.jpg", .done)
        await service.stop()
    }

    @Test("a restart sends nothing while everything is paused")
    func pausedFromTheStart() async throws {
        let down = FileError(code: "no_connection", message: "refused", retryable: true)
        stage.state.withLock { $0.reply = .failure(.temporary(down)) }
        let first = stage.service()
        try take(first, "a.jpg", "A")
        try await expect("a.jpg", .waiting)
        await first.stop()
        let sent = stage.state.withLock(\.received.count)
        let second = stage.service(isAllPaused: true)
        try await expect("a.jpg", .paused)
        #expect(stage.state.withLock(\.received.count) == sent)
        await second.stop()
    }

    @Test("a login as another user discards the picture")
    func somebodyElse() async throws {
        stage.state.withLock { $0.reply = .hang }
        let first = stage.service()
        try take(first, "a.jpg", "A")
        try await expect("a.jpg", .uploading)
        await first.stop()
        stage.state.withLock { $0.account = "bert" }
        let second = stage.service()
        try await expect("a.jpg", .cancelled)
        #expect(stage.report("a.jpg")?.error?.code == "session_refused")
        #expect(stage.state.withLock(\.received).count == 1)
        await second.stop()
    }

    @Test("a picture refused by the worker is rejected, and the previous one stays")
    func unfit() async throws {
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .done)
        stage.state.withLock { $0.verdict = .fails(.refused(PictureRefusal(.damaged, "it is cut off"))) }
        try take(service, "b.jpg", "B")
        try await expect("b.jpg", .rejected)
        #expect(stage.report("b.jpg")?.error?.code == "damaged")
        #expect(stage.current == "jpeg of A")
        #expect(try FileManager.default.contentsOfDirectory(atPath: stage.portrait) == ["newest.json"])
        await service.stop()
    }

    @Test("a missing worker is reported with the package to install, and the picture waits")
    func noWorker() async throws {
        stage.state.withLock { $0.verdict = .fails(.unavailable("outbox-media is missing")) }
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .waiting)
        #expect(stage.report("a.jpg")?.error?.code == "no_picture_worker")
        #expect(stage.report("a.jpg")?.error?.message.contains("install libvips") == true)
        stage.state.withLock { $0.verdict = .draws }
        stage.clock.advance(by: .seconds(2))
        try await expect("a.jpg", .done)
        await service.stop()
    }

    @Test("a picture that kills the worker is tried once more", arguments: [1, 2])
    func killedWorker(_ times: Int) async throws {
        stage.state.withLock { $0.kills = times }
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .waiting)
        service.handle(.retried(PortraitStage.path("a.jpg")))
        try await expect("a.jpg", times == 1 ? .done : .failed)
        #expect(stage.report("a.jpg")?.error?.code == (times == 1 ? nil : "damaged"))
        await service.stop()
    }

    @Test("a worker that fails for a while is asked again")
    func workerTrouble() async throws {
        stage.state.withLock { $0.verdict = .fails(.failed("no memory")) }
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .waiting)
        stage.state.withLock { $0.verdict = .draws }
        stage.clock.advance(by: .seconds(2))
        service.handle(.retried(PortraitStage.path("a.jpg")))
        try await expect("a.jpg", .done)
        await service.stop()
    }

    @Test("a picture that the cache can't store is done, and shown")
    func cacheFails() async throws {
        stage.state.withLock { $0.cacheFails = true }
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .done)
        #expect(stage.current == "jpeg of A")
        #expect(stage.text(stage.portrait + "/pending.jpg") == nil)
        await service.stop()
    }

    @Test(
        "a stored picture that can't be opened is sent later, and a missing one fails",
        arguments: [true, false])
    func unopened(_ comesBack: Bool) async throws {
        let down = FileError(code: "no_connection", message: "refused", retryable: true)
        stage.state.withLock { $0.reply = .failure(.temporary(down)) }
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .waiting)
        let (picture, aside) = (stage.portrait + "/1/picture.jpg", stage.directory.path("aside.jpg"))
        try FileManager.default.moveItem(atPath: picture, toPath: aside)
        if comesBack { try FileManager.default.createSymbolicLink(atPath: picture, withDestinationPath: aside) }
        stage.state.withLock { $0.reply = .url("http://h/u/1.jpg") }
        service.handle(.networkChanged)
        if comesBack {
            try await stage.wait(for: "the trouble") { stage.report("a.jpg")?.error?.code == "storage" }
            #expect(stage.report("a.jpg")?.state == .waiting)
            try FileManager.default.removeItem(atPath: picture)
            try FileManager.default.moveItem(atPath: aside, toPath: picture)
            service.handle(.networkChanged)
            try await expect("a.jpg", .done)
        } else {
            try await expect("a.jpg", .failed)
            #expect(stage.report("a.jpg")?.error?.code == "unreadable")
        }
        await service.stop()
    }

    @Test("a moved mirror, or one with the picture under another name, shows the picture again")
    func movedMirror() async throws {
        let first = stage.service()
        try take(first, "a.jpg", "A")
        try await expect("a.jpg", .done)
        await first.stop()
        let (old, new) = (stage.avatars + "/h/u/1.jpg", stage.avatars + "/h/u/1.jpg%file")
        try FileManager.default.moveItem(atPath: old, toPath: new)
        let second = stage.service()
        try await stage.wait(for: "the picture") { stage.current == "jpeg of A" }
        #expect(await second.profile().confirmed?.picture == new)
        #expect(stage.text(stage.directory.path("state/profile.json"))?.contains("1.jpg%file") == true)
        await second.stop()
        try FileManager.default.removeItem(atPath: new)
        let third = stage.service()
        try await stage.wait(for: "the pin") { stage.state.withLock(\.pinned.count) == 3 }
        #expect(await third.profile().current == nil)
        #expect(!FileManager.default.fileExists(atPath: stage.avatars + "/current.jpg"))
        #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: stage.avatars + "/current.jpg")) == nil)
        await third.stop()
    }

    @Test("each event contains the present profile")
    func events() async throws {
        let down = FileError(code: "no_connection", message: "refused", retryable: true)
        stage.state.withLock { $0.reply = .failure(.temporary(down)) }
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .waiting)
        service.handle(.paused(PortraitStage.path("a.jpg"), true))
        try await expect("a.jpg", .paused)
        service.handle(.renamed(PortraitStage.path("a.jpg"), PortraitStage.path("b.jpg")))
        let now = String(decoding: await service.profile().json, as: UTF8.self)
        #expect(now.contains("portrait/b.jpg") && now.contains("paused"))
        #expect(stage.state.withLock(\.profiles.last) == now)
        #expect(stage.state.withLock { $0.profiles.contains { $0.contains("\"state\":\"waiting\"") } })
        await service.stop()
    }

    @Test("a file that changed since its hash is hashed again")
    func changed() async throws {
        let service = stage.service()
        let drop = try stage.drop("a.jpg", "A")
        try Data("other content".utf8).write(to: URL(filePath: stage.outbox + "/portrait/a.jpg"))
        service.handle(.dropped(drop, stage.arrive()))
        try await stage.wait(for: "another look") { stage.state.withLock(\.reconsidered) == [drop.path] }
        #expect(stage.current == nil)
        await service.stop()
    }

    @Test("a picture removed before its confirmation is withdrawn")
    func removed() async throws {
        stage.state.withLock { $0.reply = .hang }
        let service = stage.service()
        let drop = try stage.drop("a.jpg", "A")
        service.handle(.dropped(drop, stage.arrive()))
        try await expect("a.jpg", .uploading)
        service.handle(.takenBack(drop.path, drop.key, PortraitMachine.removed))
        try await expect("a.jpg", .cancelled)
        #expect(stage.report("a.jpg")?.error?.code == "removed")
        #expect(stage.current == nil)
        await service.stop()
    }

    @Test("a video is rejected, and so is every file if the protocol has no portraits")
    func notTaken() async throws {
        let service = stage.service()
        let video = try stage.drop("a.mp4", "A", type: MediaType(kind: .video, mime: "video/mp4"))
        service.handle(.dropped(video, stage.arrive()))
        try await expect("a.mp4", .rejected)
        await service.stop()
        let other = stage.service(hasRemote: false)
        other.handle(.dropped(try stage.drop("b.jpg", "B"), stage.arrive()))
        try await expect("b.jpg", .failed)
        #expect(stage.report("b.jpg")?.error?.code == "not_supported")
        await other.stop()
    }

    @Test("the last of many pictures dropped at once becomes the portrait")
    func many() async throws {
        let service = stage.service()
        for number in 1...30 { try take(service, "\(number).jpg", "\(number)") }
        try await expect("30.jpg", .done)
        for number in 1..<30 {
            let state = stage.report("\(number).jpg")?.state
            #expect(state == .cancelled || state == .done, "\(number) is \(String(describing: state))")
        }
        #expect(stage.current == "jpeg of 30")
        #expect(stage.state.withLock(\.received).last == "jpeg of 30")
        #expect(stage.state.withLock(\.mostUnderWay) == 1)
        await service.stop()
    }

    @Test("the view for the control interface is JSON with all members")
    func view() async throws {
        let down = FileError(code: "no_connection", message: "refused", retryable: true)
        let service = stage.service()
        try take(service, "a.jpg", "A")
        try await expect("a.jpg", .done)
        stage.state.withLock { $0.reply = .failure(.temporary(down)) }
        try take(service, "b.jpg", "B")
        try await expect("b.jpg", .waiting)
        let bytes = await service.profile().json
        let json = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        #expect(json["portraitURL"] as? String == "http://h/u/1.jpg!150x150")
        #expect(json["state"] as? String == "waiting")
        #expect((json["pending"] as? [String: Any])?["path"] as? String == "portrait/b.jpg")
        #expect(json["current"] as? String == stage.avatars + "/current.jpg")
        await service.stop()
    }
}

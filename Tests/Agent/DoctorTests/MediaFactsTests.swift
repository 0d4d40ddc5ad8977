import ControlAPI
import Foundation
import Processes
import TestSupport
import Testing
import UploadCore

@testable import Doctor

struct MediaFactsTests {
    private static let disk = FileSystem(
        name: "ext4", kind: .local, isReadOnly: false, available: 10 << 30, freeInodes: 1_000_000)

    private func tools(
        worker: MediaToolsFacts.Worker = .works(library: "libvips 8.14.1"),
        ffprobe: MediaToolsFacts.Tool = .works(version: "5.1"), ffmpeg: MediaToolsFacts.Tool = .works(version: "5.1"),
        exiftool: MediaToolsFacts.Tool = .works(version: "12.57"), recipes: Recipes = Recipes()
    ) -> [Finding] {
        MediaToolsFacts(worker: worker, ffprobe: ffprobe, ffmpeg: ffmpeg, exiftool: exiftool, recipes: recipes)
            .findings
    }

    @Test func `a program that the configuration needs is missed loudly`() {
        let strip = Recipes(removal: .positions)
        #expect(tools(recipes: strip).map(\.level) == [.ok, .ok, .ok])
        for exiftool in [MediaToolsFacts.Tool.missing, .broken("status 2")] {
            let finding = tools(exiftool: exiftool, recipes: strip)[2]
            #expect(finding.level == .stop)
            #expect(finding.remedy?.contains("libimage-exiftool-perl") == true)
            #expect(tools(exiftool: exiftool).count == 2)
        }
        let smaller = Recipes(
            pictures: .jpeg(quality: 85, maximumSide: 0), videos: .mp4(height: 480, quality: 23))
        #expect(tools(recipes: smaller).count == 2)
        let findings = tools(worker: .withoutLibrary, ffmpeg: .missing, recipes: smaller).dropFirst(2)
        #expect(findings.map(\.level) == [.warning, .warning])
    }

    // MARK: Tools

    @Test func `all tools at hand is fine`() {
        #expect(tools().map(\.level) == [.ok, .ok])
    }

    @Test(arguments: [
        MediaToolsFacts.Worker.missing(path: "/p/outbox-media"), .withoutLibrary,
    ])
    func `without a picture worker what is lost is said, and uploads go on`(worker: MediaToolsFacts.Worker) {
        let finding = tools(worker: worker)[0]
        #expect(finding.level == .warning)
        #expect(finding.message.contains("without dimensions and thumbnails"))
        #expect(finding.remedy != nil)
    }

    @Test func `a picture worker that does not work stops profile pictures`() {
        let finding = tools(worker: .broken(path: "/p/outbox-media", reason: "it can't be executed"))[0]
        #expect(finding.level == .stop && finding.message.contains("/p/outbox-media"), "\(finding)")
        #expect(finding.message.contains("profile pictures are not sent"))
    }

    @Test func `what is lost with each tool of ffmpeg is told apart`() {
        #expect(tools(ffprobe: .missing, ffmpeg: .missing)[1].message.contains("dimensions, duration and thumbnails"))
        let withoutConverter = tools(ffmpeg: .missing)[1]
        #expect(withoutConverter.level == .note)
        #expect(!withoutConverter.message.contains("duration"))
        #expect(tools(ffmpeg: .broken("status 127"))[1].level == .warning)
        #expect(tools(ffprobe: .broken("it does not answer"))[1].message.contains("it does not answer"))
    }

    @Test func `versions are read from what the programs say`() {
        let ffmpeg = CommandOutcome(
            status: 0, output: "ffmpeg version 5.1.6-0+deb12u1 Copyright (c) 2000\nbuilt with gcc")
        #expect(MediaToolsFacts.tool(ffmpeg) == .works(version: "5.1.6-0+deb12u1"))
        #expect(MediaToolsFacts.tool(CommandOutcome(status: 127, output: "")) == .broken("status 127"))
        for program in ["outbox-media 0.2.0", "outbox-media"] {
            let outcome = CommandOutcome(status: 0, output: "\(program), libvips 8.14.1\n")
            #expect(MediaToolsFacts.library(in: outcome) == "libvips 8.14.1")
        }
        #expect(MediaToolsFacts.library(in: .init(status: 0, output: "hello\n")) == nil)
        #expect(MediaToolsFacts.exiftool(.init(status: 0, output: "12.57\n")) == .works(version: "12.57"))
        #expect(MediaToolsFacts.exiftool(.init(status: 2, output: "")) == .broken("status 2"))
    }

    @Test func `programs are run: none, one that fails, one that works`() async throws {
        let directory = try TemporaryDirectory(prefix: "tools")
        let environment = ["PATH": directory.path(""), "OUTBOX_MEDIA": directory.path("outbox-media")]
        func program(_ name: String, _ text: String) throws {
            try Scratch.write("#!/bin/sh\n\(text)\n", to: directory.path(name))
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path(name))
        }
        var facts = await MediaToolsFacts.probe(environment: environment, recipes: Recipes(), limit: .seconds(120))
        #expect(facts.worker == .missing(path: directory.path("outbox-media")))
        #expect(facts.ffprobe == .missing)
        try program("ffprobe", "exit 3")
        try program("ffmpeg", "echo ffmpeg version 9.9 Copyright")
        try program("outbox-media", "echo outbox-media, without libvips")
        facts = await MediaToolsFacts.probe(environment: environment, recipes: Recipes(), limit: .seconds(120))
        #expect(
            facts
                == MediaToolsFacts(
                    worker: .withoutLibrary, ffprobe: .broken("status 3"), ffmpeg: .works(version: "9.9"),
                    exiftool: .missing, recipes: Recipes()))
        // A worker that reports libvips but fails to draw.
        try program("outbox-media", "case $1 in --version) echo outbox-media, libvips 8;; *) exit 1;; esac")
        facts = await MediaToolsFacts.probe(environment: environment, recipes: Recipes(), limit: .seconds(120))
        guard case .broken = facts.worker else {
            Issue.record("\(facts.worker)")
            return
        }
    }

    // MARK: Avatars

    private func mirror(_ state: DirectoryFacts.State) -> [Finding.Level] {
        DirectoryFacts(path: "/a", state: state, user: 1000).avatarFindings.map(\.level)
    }

    private func present(_ change: (inout DirectoryFacts.Present) -> Void = { _ in }) -> DirectoryFacts.State {
        var present = DirectoryFacts.Present(
            permissions: 0o700, owner: 1000, isReadable: true, isWritable: true, fileSystem: Self.disk)
        change(&present)
        return .present(present)
    }

    @Test func `a directory of avatars that can't be used never stops uploads`() {
        #expect(mirror(present()) == [.ok])
        #expect(mirror(.missing(obstacle: nil)) == [.note])
        #expect(mirror(.missing(obstacle: "/ can't be written to")) == [.warning])
        #expect(mirror(.notADirectory) == [.warning])
        #expect(mirror(present { $0.isWritable = false }) == [.warning])
        #expect(mirror(present { $0.fileSystem.available = 1 << 20 }) == [.warning])
        #expect(mirror(present { $0.fileSystem.freeInodes = 0 }) == [.warning])
    }

    @Test func `the link to the current picture is looked at without following it blindly`() throws {
        let directory = try TemporaryDirectory(prefix: "current")
        let path = directory.path("current.jpg")
        func levels() -> [Finding.Level] { CurrentPictureFacts(probing: path).findings(path: path).map(\.level) }
        #expect(levels() == [])
        try Scratch.link(directory.path("picture"), at: path)
        #expect(CurrentPictureFacts(probing: path) == .broken(target: directory.path("picture")))
        #expect(levels() == [.warning])
        try Scratch.write("x", to: directory.path("picture"))
        #expect(levels() == [.ok])
        try FileManager.default.removeItem(atPath: path)
        try Scratch.write("x", to: path)
        #expect(CurrentPictureFacts(probing: path) == .foreign)
        #expect(levels() == [.warning])
    }

    @Test func `a placeholder that can't be used is a warning`() throws {
        let directory = try TemporaryDirectory(prefix: "placeholder")
        #expect(PlaceholderFacts(probing: nil).findings.isEmpty)
        #expect(PlaceholderFacts(probing: directory.path("none")).findings.map(\.level) == [.warning])
        try Data(PlaceholderPicture.builtIn.bytes).write(to: URL(fileURLWithPath: directory.path("some")))
        #expect(PlaceholderFacts(probing: directory.path("some")).findings.isEmpty)
    }
}

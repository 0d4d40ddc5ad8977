import Foundation
import LinuxSystem
import MediaTestSupport
import MediaTools
@testable import Products
import TestSupport
import Testing
import UploadCore

/// What the remover refuses: positions that can't be removed, damaged and hostile files.
@Suite(.enabled(if: LocationFiles.canBeMade, "needs exiftool and ffmpeg"), .serialized) struct LocationRefusalTests {
    @Test func refusesSubtitlesOfMatroskaWithPositions() async throws {
        let files = try LocationFiles()
        try await files.base("plain.mp4")
        for (text, isRefused) in [("GPS(11.5755,48.1375,520)", true), ("Hello", false)] {
            _ = try files.media.write("1\n00:00:00,000 --> 00:00:00,500\n\(text)\n\n".utf8, "text.srt")
            try await files.media.make(
                "-i \(files.path("plain.mp4")) -i \(files.path("text.srt")) -map 0 -map 1 -c copy -c:s srt text.mkv")
            let stage = try RemoverStage()
            #expect(try await (stage.refusal(of: files.path("text.mkv")) != nil) == isRefused)
        }
    }

    @Test func oneHostileFileFailsAlone() async throws {
        let files = try LocationFiles()
        let stage = try RemoverStage()
        try await files.base("good.jpg")
        try await files.tag("good.jpg", ["-GPSLatitude=48.1375"])
        let bad: [(String, Data)] = [
            (
                "noise.jpg",
                Data([0xFF, 0xD8, 0xFF]) + Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 * 7919 >> 3) })
            ),
            ("boxes.mp4", Data([0, 0, 0, 16]) + Data("ftypisom".utf8) + Data(count: 4) + Self.freeBoxes(150_000)),
        ]
        for (name, data) in bad {
            let path = try files.media.write(data, name)
            #expect(try await stage.refusal(of: path) != nil, "\(name) was accepted")
            #expect(try await StepRun(stage.remover, on: files.path("good.jpg")).outcome != .unchanged)
        }
    }

    private static func freeBoxes(_ count: Int) -> Data {
        Data((0..<count).flatMap { _ in [0, 0, 0, 8] + Array("free".utf8) })
    }

    @Test(arguments: ["loci.mp4", "sensors.mp4", "tags.mkv", "thumbnail.jpg", "moving.jpg"])
    func damagedFilesNeverLeakOrCrash(_ name: String) async throws {
        let files = try LocationFiles()
        let file = try #require((LocationCase.all).first { $0.name == name })
        try await file.make(files, name)
        let stage = try RemoverStage()
        let whole = try [UInt8](files.bytes(name))
        var random = SeededRandom(seed: 14)
        for round in 0..<12 {
            var bytes = whole
            // The signature stays, so that the type does.
            for _ in 0...round {
                bytes[Int.random(in: 16..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if round % 3 == 2 { bytes.removeLast(Int.random(in: 1..<bytes.count / 2, using: &random)) }
            let path = try files.media.write(bytes, "damaged")
            do {
                let run = try await StepRun(stage.remover, on: path)
                if let product = run.product { #expect(product.range(of: Data("48.1375".utf8)) == nil) }
            } catch ProductFailure.refused {
                // The damage is found.
            }
        }
    }

    @Test func othersAreRefused() async throws {
        let files = try LocationFiles()
        let path = try files.media.write("<gpx/>".utf8, "track.gpx")
        #expect(try await RemoverStage().refusal(of: path) != nil)
    }

    @Test func manyAtOnceShareOneProcess() async throws {
        let files = try LocationFiles()
        try await files.base("good.jpg")
        try await files.tag("good.jpg", ["-GPSLatitude=48.1375"])
        let path = files.path("good.jpg")
        let stage = try RemoverStage()
        let sizes = try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<20 { group.addTask { try await StepRun(stage.remover, on: path).product?.count } }
            return try await group.reduce(into: Set<Int?>()) { $0.insert($1) }
        }
        #expect(sizes.count == 1 && !sizes.contains(nil))
    }
}

/// The remover with programs in place of exiftool.
@Suite struct LocationToolTests {
    /// A remover with a shell script in place of exiftool, and a picture.
    private struct Scene {
        let files: TemporaryDirectory
        let stage: RemoverStage
        let picture: String

        init(_ script: String) throws {
            files = try TemporaryDirectory()
            let program = try files.file("exiftool", "#!/bin/sh\n\(script)\n")
            chmod(program, 0o755)
            stage = try RemoverStage(program: program)
            // The smallest JPEG that can be read to its end.
            picture = files.path("picture.jpg")
            try Data([0xFF, 0xD8, 0xFF, 0xD9]).write(to: URL(filePath: picture))
        }

        func failure() async -> ProductFailure? {
            do {
                _ = try await StepRun(stage.remover, on: picture)
                return nil
            } catch {
                return error as? ProductFailure
            }
        }
    }

    @Test func missingProgramIsNamed() async throws {
        let stage = try RemoverStage(program: nil)
        #expect(stage.remover.missing?.contains("libimage-exiftool-perl") == true)
        let picture = stage.directory.path("picture.jpg")
        try SampleMedia.jpeg.write(to: picture, size: 2000, seed: 1)
        await #expect(throws: ProductFailure.missing("exiftool is not installed")) {
            _ = try await StepRun(stage.remover, on: picture)
        }
    }

    @Test func crashRefusesTheFile() async throws {
        let failure = try await Scene("echo broken >&2; exit 1").failure()
        let reason = "exiftool ended with exit code 1: broken"
        // The program may end before it gets a command. Then a retry may help.
        #expect(failure == .refused(reason) || failure == .failed(reason))
    }

    @Test func killedProgramIsNotTheFilesFault() async throws {
        let scene = try Scene("while read line; do :; done")
        let task = Task { await scene.failure() }
        let process = try await Poll.value("the program runs") { Self.process(with: scene.files.path("exiftool")) }
        kill(process, SIGKILL)
        guard case .failed? = await task.value else {
            Issue.record("the file was blamed")
            return
        }
    }

    @Test func endlessLineIsRefused() async throws {
        // A confined script starts no other programs.
        let script = "printf '%03000000d\\n' 1; while read line; do :; done"
        let failure = try await Scene(script).failure()
        #expect(failure == .refused("exiftool printed a line that is too long to be searched"))
    }

    @Test func endedProgramIsStartedAgain() async throws {
        // Answers one command for a picture without positions, and ends.
        let scene = try Scene(
            "while read line; do case $line in -execute1) printf 'File\\tFileType\\tJPEG\\n{ready1}\\n'; exit 0; esac; done"
        )
        #expect(await scene.failure() == nil)
        try await Poll.until("the program ends") { Self.process(with: scene.files.path("exiftool")) == nil }
        // A command may still reach the old process, which has no command line any more and is not quite gone.
        try await Poll.until("another process") { await scene.failure() == nil }
    }

    /// Returns a process with this word in its command line. A process that has ended has none.
    private static func process(with word: String) -> pid_t? {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.compactMap { pid_t($0) }.first { process in
            let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline")
            return line?.range(of: Data(word.utf8)) != nil
        }
    }

    @Test func unusablePerlIsNotTheFilesFault() async throws {
        let failure = try await Scene("echo no library >&2; exit 2").failure()
        #expect(failure == .failed("exiftool ended with exit code 2: no library"))
    }

    @Test func silenceIsNoProofOfAnything() async throws {
        // Answers each command without reading the file.
        let failure = try await Scene(
            "while read line; do case $line in -execute*) echo \"{ready${line#-execute}}\"; esac; done"
        )
        .failure()
        #expect(failure == .refused("exiftool does not know this type of picture"))
    }

    @Test func programThatCannotRunFails() async throws {
        let scene = try Scene("")
        _ = try scene.files.file("exiftool", "no program")
        guard case .failed(let reason)? = await scene.failure() else {
            Issue.record("a program without a format was started")
            return
        }
        #expect(reason.contains("cannot be started"))
    }

    /// Gives a running script two commands, and returns why the first one failed that did.
    private func failure(of script: String, within seconds: Int) async throws -> ProductFailure? {
        let scene = try Scene(script)
        let program = scene.files.path("exiftool")
        let directory = scene.stage.directory.path
        let failure = await withCheckedContinuation { continuation in
            startThread(name: "session") {
                do throws(ProductFailure) {
                    let session = try ExifToolSession(program: program, directory: directory)
                    for _ in 0..<2 { try session.run(["-ver"], within: seconds, Cancellation()) }
                    continuation.resume(returning: ProductFailure?.none)
                } catch {
                    continuation.resume(returning: error)
                }
            }
        }
        try await Poll.until("the program to end") { Self.process(with: program) == nil }
        return failure
    }

    @Test func closedInputIsNotTheFilesFault() async throws {
        // The second command can't be written (EPIPE), although the program still runs.
        let answer = "exec 0<&-; echo '{ready1}'; while :; do :; done"
        let script = "while read line; do case $line in -execute1) \(answer);; esac; done"
        guard case .failed(let reason)? = try await failure(of: script, within: 120) else {
            Issue.record("the file was blamed")
            return
        }
        #expect(!reason.contains("took over"))
    }

    @Test func silentProgramIsKilledInTime() async throws {
        let failure = try await failure(of: "while :; do :; done", within: 1)
        #expect(failure == .tookTooLong("exiftool took over 1 s and was killed"))
    }

    @Test func cancellationKillsTheProgram() async throws {
        let scene = try Scene("while read line; do :; done; sleep 1000")
        let task = Task { await scene.failure() }
        // Whether it comes before, during or after the start, nothing but `cancelled` is right.
        task.cancel()
        #expect(await task.value == .cancelled)
    }
}

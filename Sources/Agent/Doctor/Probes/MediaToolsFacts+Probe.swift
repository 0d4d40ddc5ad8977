import CLinux
import ControlAPI
import Glibc
import LinuxSystem
import Logging
import MediaTools
import PictureJobs
import Processes
import Products
import SystemPackage
import UploadCore

extension MediaToolsFacts {
    /// Runs ffprobe and ffmpeg, and lets the worker measure a small picture.
    ///
    /// - Parameters:
    ///   - recipes: What is to be done with files before their upload.
    ///   - limit: Time limit for each program. A program that hangs counts as broken.
    static func probe(
        environment: [String: String], recipes: Recipes, limit: Duration
    ) async -> MediaToolsFacts {
        let tools = VideoTools.find(in: environment["PATH"])
        async let worker = worker(at: PictureWorker.find(environment: environment), environment, limit)
        async let ffprobe = tool(tools.prober, environment, limit)
        async let ffmpeg = tool(tools.converter, environment, limit)
        async let exiftool = exiftool(LocationRemover.findProgram(in: environment["PATH"]), environment, limit)
        return MediaToolsFacts(
            worker: await worker, ffprobe: await ffprobe, ffmpeg: await ffmpeg, exiftool: await exiftool,
            recipes: recipes)
    }

    private static func exiftool(
        _ path: String?, _ environment: [String: String], _ limit: Duration
    ) async -> Tool {
        guard let path else { return .missing }
        let outcome = await TimeLimit.run("doctor-exiftool", limit) {
            exiftool(ChildCommandRunner(environment: environment).run([path, "-config", "", "-ver"]))
        }
        return outcome ?? .broken("it does not answer")
    }

    /// Reads the output of `exiftool -ver`: `12.57`.
    static func exiftool(_ outcome: CommandOutcome?) -> Tool {
        guard let outcome else { return .broken("it can't be started") }
        let version = outcome.output.split(separator: "\n").first.map(String.init) ?? ""
        guard outcome.status == 0, Double(version) != nil else { return .broken("status \(outcome.status)") }
        return .works(version: version)
    }

    /// Reads the first line of `ffmpeg -version`: `ffmpeg version 5.1.6-0+deb12u1 Copyright (c) …`.
    static func tool(_ outcome: CommandOutcome?) -> Tool {
        guard let outcome else { return .broken("it can't be started") }
        let words = outcome.output.split(separator: "\n").first?.split(separator: " ") ?? []
        guard outcome.status == 0, words.count > 2, words[1] == "version" else {
            return .broken("status \(outcome.status)")
        }
        return .works(version: String(words[2]))
    }

    private static func tool(_ path: String?, _ environment: [String: String], _ limit: Duration) async -> Tool {
        guard let path else { return .missing }
        let outcome = await TimeLimit.run("doctor-tools", limit) {
            tool(ChildCommandRunner(environment: environment).run([path, "-version"]))
        }
        return outcome ?? .broken("it does not answer")
    }

    // MARK: The picture worker

    private static func worker(at path: String, _ environment: [String: String], _ limit: Duration) async -> Worker {
        guard ProcFile.exists(path) else { return .missing(path: path) }
        guard access(path, X_OK) == 0 else { return .broken(path: path, reason: "it can't be executed") }
        let version = await TimeLimit.run("doctor-worker", limit) {
            ChildCommandRunner(environment: environment).run([path, "--version"])
        }
        // Nil at both levels: the program hangs, or can't be started.
        guard let outcome = version ?? nil, let library = library(in: outcome) else {
            return .broken(path: path, reason: "it does not print its version")
        }
        if library == "without libvips" { return .withoutLibrary }
        return await measure(with: path, limit).map { .broken(path: path, reason: $0) } ?? .works(library: library)
    }

    /// Reads `outbox-media 0.2.0, libvips 8.14.1`; nil for anything else. Version 0.1.0 printed no version.
    static func library(in outcome: CommandOutcome) -> String? {
        let parts = outcome.output.split(separator: "\n").first?.split(separator: ",", maxSplits: 1) ?? []
        guard outcome.status == 0, parts.count == 2, parts[0].hasPrefix("outbox-media") else { return nil }
        return String(parts[1].drop { $0 == " " })
    }

    /// Lets the worker measure the built-in placeholder. Success proves that the worker starts, sandboxes itself and
    /// decodes.
    ///
    /// - Returns: The reason of a failure; nil on success.
    private static func measure(with path: String, _ limit: Duration) async -> String? {
        let worker = PictureWorker(
            program: path, processes: 1, logger: Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() })
        let answer = await TimeLimit.wait(limit) {
            let reason = await measure(with: worker)
            await worker.shutdown()
            return reason
        }
        return answer ?? "it does not answer"
    }

    private static func measure(with worker: PictureWorker) async -> String? {
        guard let picture = try? memoryFile(PlaceholderPicture.builtIn.bytes) else {
            return "cannot create a file in memory"
        }
        do throws(PictureFailure) {
            _ = try await worker.perform(.measure, on: picture, into: nil, maximumPixels: 1 << 20)
            return nil
        } catch {
            return "\(error)"
        }
    }

    private static func memoryFile(_ bytes: [UInt8]) throws(Errno) -> SharedDescriptor {
        let file = SharedDescriptor(
            Descriptor(owning: try retryingOnInterrupt { outbox_memory_file("outbox-doctor") }))
        try writeAll(bytes, to: file.rawValue)
        return file
    }
}

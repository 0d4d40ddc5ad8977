import Foundation
import TestSupport

// Writes sources and reads their sidecars, as a user does.
extension Agent {
    /// Returns the sidecar of the source in a directory of the outbox, or nil if there is none.
    ///
    /// - Throws: `DecodingError` if the sidecar violates contract 6: readers never see a partial sidecar.
    package func source(_ directory: String) throws -> SourceSidecar? {
        guard let data = FileManager.default.contents(atPath: path("\(directory)/source.outbox.json")) else {
            return nil
        }
        return try JSONDecoder().decode(SourceSidecar.self, from: data)
    }

    /// Adds a whole source to the outbox at once: prepares the directory outside the outbox and renames it in.
    ///
    /// - Parameters:
    ///   - description: The text of `source.toml`; nil: no such file.
    ///   - files: The contents by file name, relative to the directory.
    package func writeSource(_ directory: String, _ description: String?, _ files: [String: [UInt8]]) throws {
        let scratch = self.directory.path("in-preparation")
        for (name, bytes) in files {
            try Files.makeDirectory(URL(fileURLWithPath: "\(scratch)/\(name)").deletingLastPathComponent().path)
            try Files.write(bytes, to: "\(scratch)/\(name)")
        }
        try Files.makeDirectory(scratch)
        if let description { try Files.write(Array(description.utf8), to: "\(scratch)/source.toml") }
        try Files.makeDirectory(URL(fileURLWithPath: path(directory)).deletingLastPathComponent().path)
        try Files.rename(scratch, to: path(directory))
    }

    /// Writes `source.toml` safely, as careful programs do: under an ignored name first, then renamed.
    package func describe(_ directory: String, _ description: String) throws {
        try drop("\(directory)/.source.toml.part", Array(description.utf8))
        try Files.rename(path("\(directory)/.source.toml.part"), to: path("\(directory)/source.toml"))
    }

    /// Waits until the source's sidecar shows one of `states`. Throws at once if the source reaches another final
    /// state.
    @discardableResult
    package func reached(
        source directory: String, _ states: SourceSidecar.State..., timeout: Duration = .seconds(150),
        where condition: (SourceSidecar) -> Bool = { _ in true }
    ) async throws -> SourceSidecar {
        try await reached(source: directory, states, isLast: \.isFinal, timeout: timeout, where: condition)
    }

    /// Waits until the source's sidecar shows one of `states`, even if the source is still in a final state that it
    /// is about to leave.
    @discardableResult
    package func returned(
        source directory: String, to states: SourceSidecar.State..., timeout: Duration = .seconds(150),
        where condition: (SourceSidecar) -> Bool = { _ in true }
    ) async throws -> SourceSidecar {
        try await reached(source: directory, states, isLast: { _ in false }, timeout: timeout, where: condition)
    }

    private func reached(
        source directory: String, _ states: [SourceSidecar.State], isLast: (SourceSidecar.State) -> Bool,
        timeout: Duration, where condition: (SourceSidecar) -> Bool
    ) async throws -> SourceSidecar {
        var last: SourceSidecar?
        return try await Poll.value(
            "\(directory) to be \(states.map(\.rawValue).joined(separator: " or "))", timeout: timeout,
            lastState: { "\(last?.brief ?? "no sidecar")\n\(self.log)" },
            look: {
                last = try source(directory)
                guard let last else { return nil }
                if states.contains(last.state) { return condition(last) ? last : nil }
                if isLast(last.state) { throw Surprise("\(directory) ended as \(last.brief)\n\(log)") }
                return nil
            })
    }
}

extension [UInt8] {
    /// Returns a unique picture of `size` bytes.
    package static func jpeg(_ size: Int, seed: UInt64 = .random(in: 0 ... .max)) -> [UInt8] {
        SampleMedia.jpeg.bytes(size: size, seed: seed)
    }

    /// Returns a unique video of `size` bytes.
    package static func mp4(_ size: Int, seed: UInt64 = .random(in: 0 ... .max)) -> [UInt8] {
        SampleMedia.mp4.bytes(size: size, seed: seed)
    }
}

import Foundation
import TestSupport

// Sources, as a user puts them into the outbox and reads of them.
extension Agent {
    /// The sidecar of the source in a directory of the outbox; nil where there is none.
    ///
    /// - Throws: `DecodingError` where it is not what contract 6 says: readers never see half of one.
    package func source(_ directory: String) throws -> SourceSidecar? {
        guard let data = FileManager.default.contents(atPath: path("\(directory)/source.outbox.json")) else {
            return nil
        }
        return try JSONDecoder().decode(SourceSidecar.self, from: data)
    }

    /// Puts a whole source into the outbox at once: it is made beside it and renamed in.
    ///
    /// - Parameters:
    ///   - description: what `source.toml` says; nil: there is none.
    ///   - files: by their names, relative to the directory.
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

    /// Writes `source.toml` as careful programs do: under a name that is ignored, and renamed.
    package func describe(_ directory: String, _ description: String) throws {
        try drop("\(directory)/.source.toml.part", Array(description.utf8))
        try Files.rename(path("\(directory)/.source.toml.part"), to: path("\(directory)/source.toml"))
    }

    /// Waits until the sidecar of a source says one of `states`; another final state ends the waiting at once.
    @discardableResult
    package func reached(
        source directory: String, _ states: SourceSidecar.State..., timeout: Duration = .seconds(60),
        where condition: (SourceSidecar) -> Bool = { _ in true }
    ) async throws -> SourceSidecar {
        try await reached(source: directory, states, isLast: \.isFinal, timeout: timeout, where: condition)
    }

    /// The same where it may be in a final state still, that it leaves after something was just done to it.
    @discardableResult
    package func returned(
        source directory: String, to states: SourceSidecar.State..., timeout: Duration = .seconds(60),
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
    /// The content of a picture that is like no other.
    package static func jpeg(_ size: Int, seed: UInt64 = .random(in: 0 ... .max)) -> [UInt8] {
        SampleMedia.jpeg.bytes(size: size, seed: seed)
    }

    /// The content of a video that is like no other.
    package static func mp4(_ size: Int, seed: UInt64 = .random(in: 0 ... .max)) -> [UInt8] {
        SampleMedia.mp4.bytes(size: size, seed: seed)
    }
}

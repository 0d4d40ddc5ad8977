import Agent
import ArgumentParser
import Console
import Glibc
import Ledger
import LinuxSystem
import Reports
import SystemPackage
import Text
import UploadCore

struct ReceiptsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipts",
        abstract: "List what the server confirmed, for md5sum, sha256sum, bagit or a program.",
        discussion: """
            jsonl: a JSON object for each confirmed file, the earliest first. md5sum and sha256sum: digests and paths \
            below the outbox, for `md5sum -c`; sha256sum lists only files whose SHA-256 the agent computed. Of a path that \
            was confirmed several times, the last content counts. A comment line says what was sent in place of a file \
            (media.compress_images and the like). bagit: a bag in DIR (RFC 8493) whose fetch.txt names the URLs; put the \
            files below DIR/data to validate them.

            Examples:
              outbox receipts --since 30d > receipts.jsonl
              outbox receipts --format md5sum > sums; cd ~/Outbox && md5sum -c ~/sums
              outbox receipts --format bagit --output bag
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case jsonl, md5sum, sha256sum, bagit
    }

    @OptionGroup var common: CommonOptions

    @OptionGroup var range: HistoryOptions

    @Option(help: ArgumentHelp("One of: jsonl, md5sum, sha256sum, bagit.", valueName: "format"))
    var format = Format.jsonl

    @Option(help: ArgumentHelp("bagit: the directory to create.", valueName: "dir"), completion: .directory)
    var output: String?

    func run() async throws {
        let link = try AgentLink(common)
        let file = try JournalFile(link.configuration)
        switch format {
        case .jsonl:
            try file.forEachPage { page in
                try Output.standard.write(
                    lines: page.entries.filter(isWanted).map { String(decoding: page.json($0), as: UTF8.self) })
            }
        case .md5sum, .sha256sum: try Output.standard.write(lines: try latest(file).flatMap { lines($0) })
        case .bagit: try Bag(entries: try latest(file)).write(to: output ?? "")
        }
    }

    func validate() throws {
        if format == .bagit, output == nil { throw ValidationError("--format bagit needs --output DIR") }
    }

    private func isWanted(_ entry: JournalEntry) -> Bool {
        guard entry.row.outcome == .done, entry.row.subject == .file else { return false }
        if let since = range.since?.time, entry.row.time.milliseconds < since.milliseconds { return false }
        return range.until.map { entry.row.time.milliseconds < $0.time.milliseconds } ?? true
    }

    /// Returns the last confirmation of each path, sorted by path.
    private func latest(_ file: JournalFile) throws -> [JournalEntry] {
        var latest: [RelativePath: JournalEntry] = [:]
        try file.forEachPage { page in
            for entry in page.entries where isWanted(entry) { latest[entry.place ?? entry.row.path] = entry }
        }
        return latest.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The lines of a file for md5sum or sha256sum, which ignore comments.
    private func lines(_ entry: JournalEntry) -> [String] {
        let row = entry.row
        // The agent computes the SHA-256 of what is sent.
        let digest = format == .md5sum ? row.key?.description : row.sent == nil ? row.sha256?.description : nil
        guard let digest else { return [] }
        let sent = row.sent.map { ["# sent as \($0.key), \($0.type), \($0.size) bytes:"] } ?? []
        return sent + [ChecksumLine.text(digest, entry.place ?? row.path)]
    }
}

/// A line that md5sum and sha256sum read (info coreutils, "md5sum invocation").
enum ChecksumLine {
    /// A name with a backslash or a line break is escaped, which a backslash before the digest says.
    static func text(_ digest: String, _ path: RelativePath) -> String {
        let name = String(decoding: path.bytes, as: UTF8.self)
        let escaped = name.replacing("\\", with: "\\\\").replacing("\n", with: "\\n").replacing("\r", with: "\\r")
        return (escaped == name ? "" : "\\") + "\(digest)  \(escaped)"
    }
}

/// A bag whose content is on the server (RFC 8493).
struct Bag {
    let entries: [JournalEntry]

    /// Writes the bag into a new directory, or an empty one.
    func write(to directory: String) throws {
        do throws(Errno) {
            try Directory.create(directory + "/data")
            let known = try Directory(path: directory).entries().map { String(decoding: $0.name, as: UTF8.self) }
            guard known == ["data"] else { throw .fileExists }
        } catch {
            throw CommandFailure.system("cannot create the bag \(directory): \(error); name a new directory")
        }
        // A bag's names are UTF-8, and without a URL nothing can be fetched.
        let kept = entries.filter {
            $0.row.remote.url != nil && $0.row.path.base64IfNotUTF8 == nil && $0.row.key != nil
        }
        if kept.count < entries.count {
            Output.error.attempt(
                "outbox: \(Quantity.count(entries.count - kept.count, "file")) left out: without a URL, or with a name that is not UTF-8"
            )
        }
        try file("bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n", directory)
        let bytes = kept.reduce(UInt64(0)) { $0 + Self.sent($1).size }
        try file(
            "bag-info.txt", "Bag-Software-Agent: outbox\nPayload-Oxum: \(bytes).\(kept.count)\n", directory)
        try file("manifest-md5.txt", kept.map { "\(Self.sent($0).key)  \(Self.name($0))\n" }.joined(), directory)
        try file(
            "fetch.txt",
            kept.map { "\($0.row.remote.url ?? "") \(Self.sent($0).size) \(Self.name($0))\n" }.joined(), directory)
    }

    /// What the server has: the file's own content, or what was sent in its place.
    private static func sent(_ entry: JournalEntry) -> (key: String, size: UInt64) {
        if let sent = entry.row.sent { return (sent.key.description, sent.size) }
        return (entry.row.key?.description ?? "", entry.row.size ?? 0)
    }

    /// RFC 8493, 2.1.3: line breaks and the per cent sign are encoded.
    private static func name(_ entry: JournalEntry) -> String {
        "data/"
            + String(decoding: (entry.place ?? entry.row.path).bytes, as: UTF8.self).replacing("%", with: "%25")
            .replacing("\n", with: "%0A").replacing("\r", with: "%0D")
    }

    private func file(_ name: String, _ text: String, _ directory: String) throws {
        do throws(Errno) {
            let file = try SharedDescriptor(
                opening: "\(directory)/\(name)", flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
            try writeAll(Array(text.utf8), to: file.rawValue)
        } catch {
            throw CommandFailure.system("cannot write \(directory)/\(name): \(error)")
        }
    }
}

import Foundation
import Logging
import Testing

@testable import OutboxReceiver

@Suite struct JournalTests {
    private static let plan = UploadPlan(
        user: "a", size: 1 << 20, md5: .random(), fileName: "tab\there\n100%", path: nil, type: "image/jpeg",
        modified: -5)

    private static let entries: [JournalEntry] = [
        .opened(.random(), plan, at: 1), .block(.random(), 7), .reset(.random()),
        .content(
            Content(
                key: plan.content, token: .random(), object: ObjectName(md5: plan.md5, variant: 2), name: "n",
                type: "video/mp4")),
        .content(
            Content(
                key: plan.content, token: .random(), object: ObjectName(md5: plan.md5, variant: 0), name: "n",
                type: "video/mp4", sha256: Hex256(String(repeating: "0f", count: 32)))),
        .content(
            Content(
                key: plan.content, token: .random(), object: ObjectName(md5: plan.md5, variant: 1), name: "n",
                type: "video/mp4", sha256: Hex256(String(repeating: "0f", count: 32)), at: 6,
                paths: ArrivalPaths(text: "trip/n\ntrip/100% (2)"))),
        .finished(.random(), user: "a", content: .random(), at: 3), .forgotten(.random()),
        .portrait(.random(), user: "a", at: 4, size: 9), .removed(.random()),
        .committed(
            Commit(
                source: Commit.Source(user: "a", id: "s"), revision: 2, token: .random(), title: "", createDate: "d",
                cover: nil, contents: [.random(), .random()], requests: [.random(), .random()])),
    ]

    private func inTemporaryFolder(_ body: (Folder, String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(try Folder.root(at: path), path)
    }

    @Test func whatIsAppendedIsReadBack() throws {
        try inTemporaryFolder { folder, _ in
            var journal = try Journal(appendingIn: folder)
            try journal.append(Self.entries)
            var read: [JournalEntry] = []
            _ = try Journal.read(folder) { read.append($0) }
            #expect(read == Self.entries)
        }
    }

    @Test func aTornLineIsSkipped() throws {
        try inTemporaryFolder { folder, path in
            var journal = try Journal(appendingIn: folder)
            try journal.append(Self.entries)
            let file = URL(filePath: path + "/journal")
            try Data(contentsOf: file).dropLast(10).write(to: file)
            var read: [JournalEntry] = []
            let (lines, bad) = try Journal.read(folder) { read.append($0) }
            #expect(read == Self.entries.dropLast())
            #expect((lines, bad) == (Self.entries.count, 1))
        }
    }

    @Test func otherKindsOfLinesArePassedOver() throws {
        try inTemporaryFolder { folder, _ in
            var journal = try Journal(appendingIn: folder)
            try journal.append(Self.entries)
            var read: [JournalEntry] = []
            let (lines, bad) = try Journal.read(folder, only: [.content, .finished]) { read.append($0) }
            let wanted = Self.entries.filter { entry in
                switch entry {
                case .content, .finished: true
                default: false
                }
            }
            #expect(read == wanted)
            #expect((lines, bad) == (Self.entries.count, 0))
        }
    }

    @Test func whatFollowsATornLineIsKept() throws {
        try inTemporaryFolder { folder, path in
            var journal = try Journal(appendingIn: folder)
            try journal.append(Self.entries)
            let file = URL(filePath: path + "/journal")
            // Cuts once in the middle of a line, once right before the line's end.
            for cut in [10, 1] {
                try Data(contentsOf: file).dropLast(cut).write(to: file)
                var next = try Journal(appendingIn: folder)
                try next.append([.forgotten(.random())])
            }
            var read = 0
            let (_, bad) = try Journal.read(folder) { _ in read += 1 }
            #expect((read, bad) == (Self.entries.count + 1, 1))
        }
    }

    @Test func aJournalWrittenAnewSaysTheSame() throws {
        try inTemporaryFolder { folder, _ in
            var journal = try Journal(appendingIn: folder)
            let upload = Upload(id: .random(), plan: Self.plan, at: 5)
            upload.restore(1)
            var catalog = Catalog()
            catalog.add(upload)
            try journal.append([.opened(upload.id, Self.plan, at: 5), .block(upload.id, 1), .block(upload.id, 1)])
            let mark = (length: journal.length, lines: journal.lines)
            let rewrite = try Journal.rewrite(catalog.forEachEntry, in: folder)
            // This entry arrives while the new journal is being written.
            try journal.append([.block(upload.id, 0)])
            try journal.replace(by: rewrite, copyingFrom: mark.length, lines: journal.lines - mark.lines)
            let last = JournalEntry.forgotten(.random())
            try journal.append([last])
            var read: [JournalEntry] = []
            _ = try Journal.read(folder) { read.append($0) }
            #expect(read == [.opened(upload.id, Self.plan, at: 5), .block(upload.id, 1), .block(upload.id, 0), last])
            #expect(journal.lines == 4)
        }
    }

    @Test func aJournalWrittenAnewHoldsWhatWaitsForTheDisk() throws {
        try inTemporaryFolder { folder, _ in
            var journal = try Journal(appendingIn: folder)
            let content = Content(
                key: Self.plan.content, token: .random(), object: ObjectName(md5: Self.plan.md5, variant: 0), name: "n",
                type: "image/jpeg")
            var catalog = Catalog()
            // A batch is in the journal and waits for syncfs. The server must not answer with these entries before.
            catalog.unconfirmed = [.content(content), .finished(.random(), user: "a", content: content.token, at: 3)]
            try journal.append(catalog.unconfirmed)
            let rewrite = try Journal.rewrite(catalog.forEachEntry, in: folder)
            try journal.replace(by: rewrite, copyingFrom: journal.length, lines: 0)
            var read: [JournalEntry] = []
            _ = try Journal.read(folder) { read.append($0) }
            #expect(read == catalog.unconfirmed)
        }
    }

    @Test func linesOfATimeWithoutSHA256AreRead() throws {
        for entry in Self.entries {
            guard case .content(let content) = entry, content.sha256 == nil else { continue }
            var bytes: [UInt8] = []
            JournalLine.append(entry, to: &bytes)
            // Removes the checksum, the line end and the last, empty fields.
            var line = Array(bytes.dropFirst(8).dropLast())
            while line.last == UInt8(ascii: "\t") { line.removeLast() }
            let sum = line.reduce(2_166_136_261 as UInt32) { ($0 ^ UInt32($1)) &* 16_777_619 }
            let digits = String(sum, radix: 16)
            line.insert(contentsOf: (String(repeating: "0", count: 8 - digits.count) + digits).utf8, at: 0)
            line.withUnsafeBytes { #expect(JournalLine.entry(from: $0[...]) == entry) }
        }
    }

    @Test func theJournalOfABusyYearStaysShort() throws {
        try inTemporaryFolder { _, path in
            let store = try Store(
                path: path, limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10),
                synchronizes: false, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
            for _ in 0..<30 {
                try store.withBooks { try $0.journal.append((0..<1000).map { _ in .forgotten(.random()) }) }
                store.keepHouse()
            }
            #expect(store.withBooks { $0.journal.lines } <= 11_000)
        }
    }

    @Test func aJournalThatCantBeWrittenAnewDoesNotPreventAStart() throws {
        try inTemporaryFolder { _, path in
            func store() throws -> Store {
                try Store(
                    path: path,
                    limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10),
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
            }
            try store().withBooks { try $0.journal.append((0..<1500).map { _ in .forgotten(.random()) }) }
            // As if the disk were full.
            let obstacle = URL(filePath: path + "/journal.new/x")
            try FileManager.default.createDirectory(at: obstacle, withIntermediateDirectories: true)
            let full = try store()
            #expect(full.withBooks { $0.journal.isUnwritable && $0.journal.lines >= 1500 })
            try FileManager.default.removeItem(at: obstacle.deletingLastPathComponent())
            try full.compactJournal()
            #expect(full.withBooks { !$0.journal.isUnwritable && $0.journal.lines == 0 })
        }
    }
}

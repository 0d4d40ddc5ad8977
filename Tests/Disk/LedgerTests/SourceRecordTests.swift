import TestSupport
import Testing
import UploadCore

@testable import Ledger

struct SourceRecordTests {
    private static let error = FileError(code: "missing", message: "drei Fälle", retryable: true)

    private func bytes(_ record: SourceRecord) -> [UInt8] {
        var encoder = RecordEncoder()
        record.encode(into: &encoder, key: [1])
        return encoder.bytes
    }

    private func expectRoundTrip(_ record: SourceRecord) throws {
        let decoded = try bytes(record).withUnsafeBytes { try SourceRecord.decode($0, key: [1]).get() }
        #expect(decoded == record)
    }

    @Test(
        arguments: [
            .draft, .collecting, .uploading, .committing(commitSample),
            .committing(
                SourceCommit(
                    sourceID: "", revision: 1, title: "", cover: nil, fileIDs: [], createdAt: WallTime(milliseconds: -1)
                )),
            .done, .failed(error), .cancelled(error), .rejected(error),
        ] as [SourceRecord.Stage]) func aSourceComesBackInEveryStage(stage: SourceRecord.Stage) throws
    {
        try expectRoundTrip(fullSource(stage: stage))
        try expectRoundTrip(
            SourceRecord(
                id: "x", directory: .root, account: nil, stage: stage, acceptedAt: WallTime(milliseconds: 0)))
    }

    @Test func eachFieldThatMayBeAbsentIsKeptByItself() throws {
        let full = try fullSource()
        var bare = SourceRecord(
            id: full.id, directory: full.directory, account: nil, stage: .draft, acceptedAt: full.acceptedAt)
        try expectRoundTrip(bare)
        for take in [
            { $0.account = full.account }, { $0.finishedAt = full.finishedAt }, { $0.isPaused = true },
            { $0.description = full.description }, { $0.description = SourceDescription() }, { $0.revision = 3 },
            { $0.files = full.files }, { $0.skipped = full.skipped }, { $0.post = full.post },
            { $0.departed = full.departed }, { $0.mark = full.mark },
        ] as [(inout SourceRecord) -> Void] {
            var one = bare
            take(&one)
            #expect(one != bare)
            try expectRoundTrip(one)
        }
        bare.account = ""
        try expectRoundTrip(bare)
    }

    @Test func randomSourcesComeBack() throws {
        var random = SeededRandom(seed: 44)
        for _ in 0..<2000 { try expectRoundTrip(randomSource(&random)) }
    }

    @Test func equalSourcesHaveEqualBytes() throws {
        var random = SeededRandom(seed: 45)
        for _ in 0..<200 {
            let record = randomSource(&random)
            var same = record
            // Inserts in another order, into more capacity: sets and dictionaries order their elements by both.
            same.files = [:]
            same.files.reserveCapacity(500)
            for (name, key) in record.files.shuffled(using: &random) { same.files[name] = key }
            same.skipped = Set(minimumCapacity: 500)
            same.departed = [:]
            same.departed.reserveCapacity(500)
            for (key, id) in record.departed.shuffled(using: &random) { same.departed[key] = id }
            for name in record.skipped.shuffled(using: &random) { same.skipped.insert(name) }
            #expect(bytes(same) == bytes(record))
        }
    }

    @Test func theLargestSourceIsStored() async throws {
        let directory = try TemporaryDirectory()
        let ledger = try openLedger(directory.path)
        var source = try fullSource()
        for number in 0..<SourceRecord.mostFiles {
            let parts = (0..<15).map { _ in String(repeating: "x", count: 255) } + ["\(number)"]
            let name = try path(parts.joined(separator: "/"))
            source.files[name] = ContentKey(high: 0, low: UInt64(number))
            source.skipped.insert(name)
        }
        source.post?.files = source.files
        await ledger.commit([.source(source)])
        #expect(try ledger.source(source.id) == source)
        ledger.close()
        #expect(try LedgerFile(directory: directory.path).inspect() == .sound)
    }

    private func randomSource(_ random: inout SeededRandom) -> SourceRecord {
        let error = FileError(code: text(&random), message: text(&random), retryable: .random(using: &random))
        let commit = SourceCommit(
            sourceID: text(&random), revision: .random(in: 0...9, using: &random), title: text(&random),
            cover: maybe(&random, text),
            fileIDs: (0..<Int.random(in: 0...5, using: &random)).map { _ in text(&random) },
            createdAt: time(&random))
        let stages: [SourceRecord.Stage] = [
            .draft, .collecting, .uploading, .committing(commit), .done, .failed(error), .cancelled(error),
            .rejected(error),
        ]
        var record = SourceRecord(
            id: text(&random), directory: name(&random), account: maybe(&random, text),
            stage: stages[Int.random(in: 0..<stages.count, using: &random)], acceptedAt: time(&random))
        record.finishedAt = maybe(&random, time)
        record.isPaused = .random(using: &random)
        record.description = maybe(&random, description)
        record.revision = .random(in: 0...9, using: &random)
        record.files = files(&random)
        record.skipped = Set((0..<Int.random(in: 0...9, using: &random)).map { _ in name(&random) })
        for key in files(&random).values { record.departed[key] = text(&random) }
        record.mark = maybe(&random) { random in
            SourceRecord.DirectoryMark(inode: .random(in: 0 ... .max, using: &random), born: 7)
        }
        record.post = maybe(&random) { random in
            SourceRecord.Post(
                revision: .random(in: 1...9, using: &random), url: maybe(&random, text),
                description: description(&random), files: files(&random))
        }
        return record
    }

    private func maybe<Value>(_ random: inout SeededRandom, _ make: (inout SeededRandom) -> Value) -> Value? {
        Bool.random(using: &random) ? make(&random) : nil
    }

    private func text(_ random: inout SeededRandom) -> String {
        String(decoding: random.bytes(Int.random(in: 0...12, using: &random)), as: UTF8.self)
    }

    private func time(_ random: inout SeededRandom) -> WallTime {
        WallTime(milliseconds: .random(in: .min ... .max, using: &random))
    }

    private func name(_ random: inout SeededRandom) -> RelativePath {
        let bytes = random.bytes(Int.random(in: 1...20, using: &random)).map { $0 % 47 == 0 ? 65 : $0 }
        return RelativePath(bytes) ?? .root
    }

    private func description(_ random: inout SeededRandom) -> SourceDescription {
        SourceDescription(title: text(&random), cover: maybe(&random, name), isDraft: .random(using: &random))
    }

    private func files(_ random: inout SeededRandom) -> [RelativePath: ContentKey] {
        var files: [RelativePath: ContentKey] = [:]
        for _ in 0..<Int.random(in: 0...SourceRecord.mostFiles, using: &random) {
            files[name(&random)] = ContentKey(high: random.next(), low: random.next())
        }
        return files
    }
}

struct SourceTableTests {
    private let directory: TemporaryDirectory
    private let ledger: Ledger

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try openLedger(directory.path)
    }

    private func id(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }

    @Test func sourcesAreWalkedByAscendingID() async throws {
        let ids = (0..<1200).map(id)
        await ledger.commit(try ids.shuffled().map { .source(try fullSource($0)) })
        #expect(try allSources(in: ledger).map(\.id) == ids)
    }

    @Test func aSourceIsReplacedAndForgotten() async throws {
        await ledger.commit([.source(try fullSource(id(1))), .source(try fullSource(id(2)))])
        await ledger.commit([.source(try fullSource(id(1), stage: .done)), .forgetSource(id(2))])
        #expect(try allSources(in: ledger) == [fullSource(id(1), stage: .done)])
        #expect(try ledger.source(id(2)) == nil)
    }

    @Test(arguments: ["", "no such id", String(repeating: "x", count: 600)]) func anIDThatNoSourceHasIsNoError(
        id: String
    ) throws {
        #expect(try ledger.source(id) == nil)
    }

    @Test func aDamagedSourceIsReportedAndTheWalkGoesOn() async throws {
        await ledger.commit([.source(try fullSource(id(1))), .source(try fullSource(id(2)))])
        let slot = LedgerKeys.source(id(1))
        try ledger.environment.write { transaction throws(LMDBError) in
            try transaction.put(LedgerTable.sources.table, slot, [1, 2, 3])
        }
        var found: [String] = []
        var damages: [LedgerError] = []
        try ledger.forEachSource(
            {
                found.append($0.id); return true
            }, damaged: { damages.append($0) })
        #expect(found == [id(2)])
        #expect(damages == [.damagedRecord(table: .sources, key: slot)])
        #expect(try ledger.source(id(1)) == nil)
        await ledger.commit([.source(try fullSource(id(1)))])
        #expect(try ledger.source(id(1)) == fullSource(id(1)))
    }
}

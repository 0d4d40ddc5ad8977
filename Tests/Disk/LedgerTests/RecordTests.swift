import TestSupport
import Testing
import UploadCore

@testable import Ledger

struct RecordTests {
    private func bytes(_ record: some StoredRecord) -> [UInt8] {
        var encoder = RecordEncoder()
        record.encode(into: &encoder, key: [1, 2])
        return encoder.bytes
    }

    private func decoded<Record: StoredRecord>(_ bytes: [UInt8], as type: Record.Type) throws -> Record {
        try bytes.withUnsafeBytes { try Record.decode($0, key: [1, 2]).get() }
    }

    private func expectRoundTrip<Record: StoredRecord & Equatable>(_ record: Record) throws {
        #expect(try decoded(bytes(record), as: Record.self) == record)
    }

    @Test func everyRecordComesBackAsItWas() throws {
        try expectRoundTrip(fullDrop(path("a/b.jpg")))
        try expectRoundTrip(sampleUpload())
        try expectRoundTrip(sampleConfirmation())
        var weak = sampleConfirmation()
        weak.isByMD5Alone = true
        try expectRoundTrip(weak)
        var strong = sampleUpload()
        strong.sha256 = StrongDigest(Array(1...32))
        try expectRoundTrip(strong)
        var named = sampleUpload()
        named.handle = RemoteHandle(id: "", object: "2026/IMG 1.jpg")
        try expectRoundTrip(named)
        strong.handle?.object = "2026/IMG 1.jpg"
        try expectRoundTrip(strong)
        try expectRoundTrip(ParkedUpload(upload: strong, acknowledged: FragmentSet(words: [5]), receipts: [0: "a"]))
        try expectRoundTrip(FragmentPage(index: 3, words: [1, .max], receipts: [12_290: "\"etag\""]))
        try expectRoundTrip(DigestPage(digests: [1, 2, 3]))
        try expectRoundTrip(SettingRecord(value: [0, 255]))
        try expectRoundTrip(MetaRecord(value: []))
        try expectRoundTrip(fullSource())
        try expectRoundTrip(sampleParked())
        for made in [true, false] {
            try expectRoundTrip(sampleProduct(made: made))
            var drop = try fullDrop(path("a/b.jpg"))
            drop.product = sampleProduct(made: made).product
            try expectRoundTrip(drop)
        }
    }

    @Test(arguments: FileState.allCases) func aDropWithNothingKnownComesBackInEveryState(state: FileState) throws {
        try expectRoundTrip(DropRecord(path: path("x"), state: state, acceptedAt: WallTime(milliseconds: 0)))
    }

    @Test(arguments: [
        MediaFacts(), MediaFacts(width: 1), MediaFacts(height: 2), MediaFacts(duration: 0.125),
    ]) func whatIsKnownOfAPictureInPartComesBackSo(facts: MediaFacts) throws {
        var drop = DropRecord(path: try path("x"), state: .queued, acceptedAt: WallTime(milliseconds: 0))
        drop.facts = facts
        try expectRoundTrip(drop)
    }

    @Test func aFlippedBitIsSeenAtEveryByte() throws {
        let good = bytes(fullDrop(try path("a/b.jpg")))
        for index in good.indices {
            var bad = good
            bad[index] ^= 1 << UInt8(index % 8)
            #expect(throws: LedgerError.damagedRecord(table: .drops, key: [1, 2])) {
                try decoded(bad, as: DropRecord.self)
            }
        }
    }

    @Test func aRecordUnderAnotherKeyIsDamaged() throws {
        let record = bytes(sampleUpload())
        let result = record.withUnsafeBytes { UploadRecord.decode($0, key: [1, 3]) }
        #expect(throws: LedgerError.self) { try result.get() }
    }

    @Test func noBytesWhateverMakeDecodingTrap() throws {
        var random = SeededRandom(seed: 4)
        let samples = [
            bytes(fullDrop(try path("a/b.jpg"))), bytes(sampleUpload()), bytes(sampleConfirmation()),
            bytes(FragmentPage(index: 3, words: [1, 2], receipts: [1: "a"])), bytes(DigestPage(digests: [1, 2])),
            bytes(try fullSource()), bytes(sampleParked()),
        ]
        var sound = 0
        for round in 0..<120_000 {
            var mutated = samples[round % samples.count]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                mutated[Int.random(in: 9..<mutated.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if round % 3 == 0 { mutated.removeLast(Int.random(in: 0...(mutated.count - 9), using: &random)) }
            sound += mutated.withUnsafeBytes { raw in
                // Decodes without the checksum, which would reject every mutation before its fields are read.
                [
                    isSound(raw, DropRecord.self), isSound(raw, UploadRecord.self),
                    isSound(raw, UploadCore.Confirmation.self),
                    isSound(raw, FragmentPage.self), isSound(raw, DigestPage.self),
                    isSound(raw, SourceRecord.self), isSound(raw, ParkedUpload.self),
                ].count { $0 }
            }
        }
        #expect(sound > 0)
    }

    @Test func aCountThatLiesCostsNoTime() throws {
        var encoder = RecordEncoder()
        encoder.begin()
        sampleUpload().encodeFields(into: &encoder)
        encoder.append(words: [1])
        encoder.append(UInt32.max)
        #expect(!encoder.bytes.withUnsafeBytes { isSound($0, ParkedUpload.self) })
    }

    private func isSound<Record: StoredRecord>(_ bytes: UnsafeRawBufferPointer, _ type: Record.Type) -> Bool {
        var decoder = RecordDecoder(unchecked: bytes)
        return Record.decodeFields(from: &decoder) != nil && decoder.isSound
    }
}

import Foundation
import Logging
import TestSupport
import Testing
import UploadCore

@testable import Ledger

func openLedger(
    _ directory: String, onTrouble: @escaping @Sendable (LedgerTrouble?) -> Void = { _ in }
) throws -> Ledger {
    try Ledger(
        directory: directory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, onTrouble: onTrouble)
}

func path(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }

let sampleKey = ContentKey(high: 0x9E10_7D9D_372B_B682, low: 0x6BD8_1D35_42A4_19D6)
let sampleSeal = ContentSeal(size: 5_000_000, digest: 42)
let sampleScope = RemoteScope("filesection http://127.0.0.1:8787 ann")

func fullDrop(_ path: RelativePath, state: FileState = .done) -> DropRecord {
    var drop = DropRecord(path: path, state: state, acceptedAt: WallTime(milliseconds: 1))
    drop.identity = FileIdentity(device: 1, inode: 2, size: 3, modified: -4, changed: 5, born: 6)
    drop.key = sampleKey
    drop.type = MediaType(kind: .video, mime: "video/mp4")
    drop.deduplicated = true
    drop.error = FileError(code: "assembly_failed", message: "drei Fälle", retryable: true)
    drop.remote = RemoteObject(id: "43", url: nil)
    drop.facts = MediaFacts(width: 640, height: 480, duration: 1.25)
    drop.isExamined = true
    drop.account = "ann"
    drop.flags = [.first, .fileIsGone]
    drop.startedAt = WallTime(milliseconds: 7)
    drop.finishedAt = WallTime(milliseconds: 8)
    return drop
}

/// What a recipe made of a content.
func sampleProduct(_ recipe: String = "jpeg quality=85", made: Bool = true) -> ProductRecord {
    let original = DropContent(key: ContentKey(high: 7, low: 8), seal: ContentSeal(size: 9_000_000, digest: 43))
    let product = Product(
        original: original, recipe: recipe,
        made: made
            ? .init(type: MediaType(kind: .image, mime: "image/jpeg"), size: 5_000_000, facts: MediaFacts(width: 4))
            : nil,
        error: made ? nil : "damaged")
    return ProductRecord(product: product, content: made ? DropContent(key: sampleKey, seal: sampleSeal) : nil)
}

func sampleUpload() -> UploadRecord {
    var upload = UploadRecord(
        key: sampleKey, seal: sampleSeal, plan: FragmentPlan(size: 5_000_000), scope: sampleScope, order: -3)
    upload.handle = RemoteHandle(id: "43")
    upload.assemblyFailures = 2
    upload.attempts = 5
    return upload
}

/// An upload of a content of its own.
func numberedUpload(_ number: UInt64, order: Int64) -> UploadRecord {
    UploadRecord(
        key: ContentKey(high: number, low: 5), seal: sampleSeal, plan: FragmentPlan(size: 5_000_000),
        scope: sampleScope, order: order)
}

/// Reads the whole queue page by page.
func queue(of ledger: Ledger, pageSize: Int) throws -> [UploadRecord] {
    var found: [UploadRecord] = []
    while true {
        let page = try ledger.uploads(after: found.last?.place, atMost: pageSize)
        found += page
        if page.count < pageSize { return found }
    }
}

/// Counts drops by state.
func numbers(of drops: some Sequence<DropRecord>) -> [FileState: Int] {
    Dictionary(grouping: drops.filter { !$0.isTrace }, by: \.state).mapValues(\.count)
}

/// Copies the file of an open ledger while nothing is being written: the file that a kill leaves behind.
func copyOfLedger(in directory: String) throws -> TemporaryDirectory {
    let copy = try TemporaryDirectory()
    try FileManager.default.copyItem(atPath: "\(directory)/ledger.lmdb", toPath: copy.path("ledger.lmdb"))
    return copy
}

func sampleConfirmation() -> UploadCore.Confirmation {
    UploadCore.Confirmation(
        key: sampleKey, seal: sampleSeal, scope: sampleScope, remote: RemoteObject(id: nil, url: "http://u/1"),
        confirmedAt: WallTime(milliseconds: 9))
}

let commitSample = SourceCommit(
    sourceID: "8d2c5f0e9b7a41d3a6c4e1f20b953d78", revision: 2, title: "Ausflug ins Grüne", cover: "43",
    fileIDs: ["44", "43"], createdAt: WallTime(milliseconds: 11))

/// A source with a value in every field.
func fullSource(
    _ id: String = commitSample.sourceID, stage: SourceRecord.Stage = .committing(commitSample)
) throws -> SourceRecord {
    var source = SourceRecord(
        id: id, directory: try path("trips/2026"), account: "ann", stage: stage,
        acceptedAt: WallTime(milliseconds: 10))
    let odd = try #require(RelativePath([0xFF, 0x41]))
    source.finishedAt = WallTime(milliseconds: 12)
    source.isPaused = true
    source.description = SourceDescription(title: "Ausflug", cover: try path("b/c.jpg"), isDraft: true)
    source.revision = 2
    source.files = [try path("a.jpg"): sampleKey, try path("b/c.jpg"): ContentKey(high: 1, low: 2)]
    source.skipped = [odd, try path("notes.txt")]
    source.departed = [sampleKey: "43"]
    source.mark = SourceRecord.DirectoryMark(inode: 7, born: -8)
    source.post = SourceRecord.Post(
        revision: 1, url: "http://127.0.0.1/post/7", description: SourceDescription(title: "Trip"),
        files: [odd: sampleKey])
    return source
}

func sampleParked() -> ParkedUpload {
    ParkedUpload(
        upload: sampleUpload(), acknowledged: FragmentSet(words: [0b1011]), receipts: [0: "\"a\"", 3: "\"b\""])
}

/// All parked uploads.
func allParked(in ledger: Ledger) throws -> [ParkedUpload] {
    var found: [ParkedUpload] = []
    try ledger.forEachParked({ upload, acknowledged, receipts in
        found.append(ParkedUpload(upload: upload, acknowledged: acknowledged, receipts: receipts))
        return true
    })
    return found
}

/// All sources.
func allSources(in ledger: Ledger) throws -> [SourceRecord] {
    var found: [SourceRecord] = []
    try ledger.forEachSource({
        found.append($0)
        return true
    })
    return found
}

extension Ledger {
    /// Returns the keyed digest of one block; nil if unknown.
    func digest(of key: ContentKey, block: Int) throws(LedgerError) -> UInt64? {
        try digests(of: key, blocks: block..<block + 1).first
    }
}

import Ledger
import Logging
import TestSupport
import Testing
import UploadCore

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
    drop.sidecarName = [0xFF, 0x41]
    drop.startedAt = WallTime(milliseconds: 7)
    drop.finishedAt = WallTime(milliseconds: 8)
    return drop
}

func sampleUpload() -> UploadRecord {
    var upload = UploadRecord(
        key: sampleKey, seal: sampleSeal, plan: FragmentPlan(size: 5_000_000), scope: sampleScope, order: -3)
    upload.remoteID = "43"
    upload.assemblyFailures = 2
    upload.attempts = 5
    return upload
}

func sampleConfirmation() -> UploadCore.Confirmation {
    UploadCore.Confirmation(
        key: sampleKey, seal: sampleSeal, scope: sampleScope, remote: RemoteObject(id: nil, url: "http://u/1"),
        confirmedAt: WallTime(milliseconds: 9))
}

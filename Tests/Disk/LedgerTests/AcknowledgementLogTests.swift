import Foundation
import TestSupport
import Testing
import UploadCore

@testable import Ledger

@Suite("The log of acknowledgements")
struct AcknowledgementLogTests {
    private let directory: TemporaryDirectory
    private let upload: UploadRecord

    init() throws {
        directory = try TemporaryDirectory()
        let plan = FragmentPlan(size: 100 << 20)
        var upload = UploadRecord(
            key: ContentKey(high: 1, low: 2), seal: ContentSeal(size: plan.size, digest: 3), plan: plan,
            scope: RemoteScope("here"), order: 1)
        upload.handle = RemoteHandle(id: "43")
        self.upload = upload
    }

    private func open() throws -> AcknowledgementLog { try AcknowledgementLog(path: directory.path("acknowledged")) }

    private func entries(_ fragments: Int...) -> [AcknowledgementLog.Entry] {
        fragments.map { AcknowledgementLog.Entry(fragment: $0, of: upload) }
    }

    @Test("keeps its entries when opened again")
    func keeps() throws {
        #expect(try open().append(entries(0, 7)))
        #expect(try open().append(entries(199)))
        let again = try open()
        #expect(try again.entries() == entries(0, 7, 199))
        #expect(try again.entries().allSatisfy { $0.belongs(to: upload) })
    }

    @Test("is empty once the ledger has caught up")
    func clears() throws {
        let log = try open()
        #expect(log.append(entries(1)))
        log.clear()
        #expect(try log.entries().isEmpty)
        #expect(log.append(entries(2)))
        #expect(try open().entries() == entries(2))
    }

    @Test("skips damaged and cut-off entries", arguments: 0..<36)
    func damage(byte: Int) throws {
        let path = directory.path("acknowledged")
        #expect(try open().append(entries(1, 2, 3)))
        let file = Foundation.open(path, O_WRONLY)
        defer { close(file) }
        #expect(ftruncate(file, off_t(3 * 36 - 1)) == 0)
        var odd: UInt8 = 0xA5
        #expect(pwrite(file, &odd, 1, off_t(36 + byte)) == 1)
        #expect(try open().entries() == entries(1))
    }

    @Test("appends after an entry that was cut off")
    func goesOn() throws {
        #expect(try open().append(entries(1, 2)))
        truncate(directory.path("acknowledged"), 36 + 20)
        #expect(try open().append(entries(3)))
        #expect(try open().entries() == entries(1, 3))
    }

    @Test("with flipped or cut bytes, reports only acknowledged fragments")
    func anyDamage() throws {
        let path = directory.path("acknowledged")
        let all = (0..<100).map { AcknowledgementLog.Entry(fragment: $0, of: upload) }
        #expect(try open().append(all))
        let sound = try Data(contentsOf: URL(fileURLWithPath: path))
        var random = SeededRandom(seed: 19)
        for _ in 0..<200 {
            var data = sound.prefix(Int.random(in: 0...sound.count, using: &random))
            for _ in 0..<Int.random(in: 0...3, using: &random) where !data.isEmpty {
                data[Int.random(in: 0..<data.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
            }
            try data.write(to: URL(fileURLWithPath: path))
            #expect(try Set(open().entries()).isSubset(of: Set(all)))
        }
    }

    @Test("ignores entries of another registration, assembly or plan")
    func generations() throws {
        let entry = AcknowledgementLog.Entry(fragment: 5, of: upload)
        var other = upload
        other.handle = RemoteHandle(id: "44")
        #expect(!entry.belongs(to: other))
        other = upload
        other.assemblyFailures = 1
        #expect(!entry.belongs(to: other))
        other = upload
        other.plan = FragmentPlan(size: 1 << 20)
        #expect(!entry.belongs(to: other))
        #expect(entry.belongs(to: upload))
    }

    @Test("refuses entries beyond its size limit")
    func fills() throws {
        let log = try open()
        let many = (0..<10_000).map { AcknowledgementLog.Entry(fragment: $0 % 200, of: upload) }
        #expect(log.append(many))
        #expect(log.append(many))
        #expect(!log.append(many))
        #expect(try log.entries().count == 20_000)
    }
}

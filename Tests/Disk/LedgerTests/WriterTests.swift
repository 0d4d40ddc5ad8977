import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Ledger

struct WriterTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func callbacksComeInTheOrderOfTheCommits() async throws {
        let ledger = try openLedger(directory.path)
        let order = Recorder<Int>()
        for number in 0..<1000 { ledger.commit([.setting("n", [UInt8(number % 256)])]) { order.add(number) } }
        await ledger.commit([])
        #expect(order.values == Array(0..<1000))
        #expect(try ledger.setting("n") == [UInt8(999 % 256)])
    }

    @Test func whenACallbackRunsItsChangesAreThere() async throws {
        let ledger = try openLedger(directory.path)
        let seen = Recorder<Bool>()
        ledger.commit([.setting("a", [1])]) { seen.add((try? ledger.setting("a")) == [1]) }
        await ledger.commit([])
        #expect(seen.values == [true])
    }

    @Test func closingWritesWhatIsQueued() throws {
        let ledger = try openLedger(directory.path)
        for number in 0..<500 { ledger.commit([.setting("s\(number)", [1])]) {} }
        ledger.close()
        let again = try openLedger(directory.path)
        #expect(try again.setting("s499") == [1])
    }

    @Test func aClosedLedgerSaysSo() async throws {
        let ledger = try openLedger(directory.path)
        ledger.close()
        #expect(await ledger.commit([.setting("a", [1])]) == false)
        #expect(throws: LedgerError.closed) { try ledger.setting("a") }
    }

    @Test func anImpossibleChangeIsToldAndLeavesTheOthersAlone() async throws {
        let troubles = Recorder<LedgerTrouble?>()
        let ledger = try openLedger(directory.path) { troubles.add($0) }
        let long = String(repeating: "x", count: 600)
        ledger.commit([.setting("before", [1])]) {}
        async let refused = ledger.commit([.setting("with", [1]), .setting(long, [1])])
        #expect(await refused == false)
        #expect(await ledger.commit([.setting("after", [1])]))
        #expect(try ledger.setting("before") == [1])
        #expect(try ledger.setting("with") == nil)
        #expect(troubles.values.map { $0?.kind } == [.refusedChange])
    }

    @Test func aFullMapGrowsWithoutTrouble() async throws {
        let troubles = Recorder<LedgerTrouble?>()
        let ledger = try Ledger(
            directory: directory.path, logger: .init(label: "test"), mapSize: 0, drops: DropTable(),
            onTrouble: { troubles.add($0) })
        for number in 0..<5 { ledger.commit([.setting("\(number)", [UInt8](repeating: 1, count: 20 << 20))]) {} }
        await ledger.commit([])
        #expect(try ledger.setting("4")?.count == 20 << 20)
        #expect(troubles.values.isEmpty)
    }
}

/// Records the values that callbacks on another thread report, in order.
final class Recorder<Value: Sendable>: Sendable {
    private let recorded = Mutex<[Value]>([])

    var values: [Value] { recorded.withLock { $0 } }

    func add(_ value: Value) {
        recorded.withLock { $0.append(value) }
    }
}

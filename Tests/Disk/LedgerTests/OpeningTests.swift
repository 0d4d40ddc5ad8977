import Foundation
import TestSupport
import Testing

@testable import Ledger

struct OpeningTests {
    private let directory: TemporaryDirectory
    private var file: String { directory.path("ledger.lmdb") }

    init() throws {
        directory = try TemporaryDirectory()
        try openLedger(directory.path).close()
    }

    @Test func aFileThatWasCutIsRefused() throws {
        truncate(file, 8192)
        let error = #expect(throws: LedgerError.self) { try openLedger(directory.path) }
        guard case .cutFile(_, 8192, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func aHeadThatWasCutIsRefused() throws {
        truncate(file, 100)
        #expect(throws: LedgerError.self) { try openLedger(directory.path) }
    }

    @Test func aForeignFileIsRefused() throws {
        try Data(repeating: 7, count: 100_000).write(to: URL(fileURLWithPath: file))
        #expect(throws: LedgerError.notALedger(path: file)) { try openLedger(directory.path) }
    }

    @Test func anEmptyFileBecomesALedger() throws {
        truncate(file, 0)
        #expect(throws: Never.self) { try openLedger(directory.path).close() }
    }

    @Test func aNewerSchemaIsRefused() throws {
        let environment = try Environment(path: file, tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        try environment.write { transaction throws(LMDBError) in
            try LedgerSchema.put([11, 0, 0, 0], LedgerSchema.versionKey, in: transaction)
        }
        environment.close()
        #expect(throws: LedgerError.newerSchema(found: 11, supported: 10)) { try openLedger(directory.path) }
    }

    @Test func theSecretStaysTheSame() throws {
        let first = try openLedger(directory.path)
        let secret = try first.digestSecret()
        first.close()
        let second = try openLedger(directory.path)
        #expect(try second.digestSecret() == secret)
        #expect(secret.count == 192 && Set(secret).count > 20)
    }
}

import TestSupport
import Testing

@testable import Ledger

struct MappedPagesTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func makeEnvironment() throws -> Environment {
        let environment = try Environment(path: directory.path("db"), tables: ["a"], mapSize: 64 << 20)
        try environment.write { transaction throws(LMDBError) in try transaction.put(environment.tables[0], [1], [2]) }
        return environment
    }

    private func value(_ environment: Environment) throws -> [UInt8]? {
        try environment.read { transaction throws(LMDBError) in
            try transaction.get(environment.tables[0], [1]) { Array($0) }
        }
    }

    private func presentKiB(_ environment: Environment) throws -> Int {
        let start = try #require(environment.mapped.addresses?.baseAddress)
        return try #require(ProcessMaps.presentKiB(at: UInt(bitPattern: start)))
    }

    @Test func thePagesAreUnmappedNowAndThenAndReadAgain() throws {
        let environment = try makeEnvironment()
        var present: [Int] = []
        for _ in 0..<MappedPages.interval {
            #expect(try value(environment) == [2])
            present.append(try presentKiB(environment))
        }
        #expect(present.filter { $0 == 0 }.count == 1)
    }

    @Test func theAddressesFollowTheMap() throws {
        let environment = try makeEnvironment()
        #expect(environment.mapped.addresses?.count == 64 << 20)
        try environment.grow()
        #expect(environment.mapped.addresses?.count == 128 << 20)
        #expect(try value(environment) == [2])
        try environment.reopen()
        #expect(try value(environment) == [2])
        #expect(try presentKiB(environment) > 0)
        environment.close()
        #expect(environment.mapped.addresses == nil)
    }
}

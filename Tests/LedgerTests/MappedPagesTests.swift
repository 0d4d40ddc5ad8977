import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Ledger

struct MappedPagesTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func environment(_ mapped: MappedPages) throws -> Environment {
        let environment = try Environment(
            path: directory.path("db"), tables: ["a"], mapSize: 64 << 20, mapped: mapped)
        try environment.write { transaction throws(LMDBError) in try transaction.put(environment.tables[0], [1], [2]) }
        return environment
    }

    private func value(_ environment: Environment) throws -> [UInt8]? {
        try environment.read { transaction throws(LMDBError) in
            try transaction.get(environment.tables[0], [1]) { Array($0) }
        }
    }

    private func presentKiB(_ mapped: MappedPages) throws -> Int {
        try #require(ProcessMaps.presentKiB(at: UInt(bitPattern: try #require(mapped.addresses?.baseAddress))))
    }

    @Test(arguments: [
        (0, true, 4), (0, false, 12), (16, true, 4), (48, false, 12), (100, true, 25), (1 << 20, false, 64),
    ])
    func aQuarterOfALargeFileMayBeMapped(fileMiB: Int, bySinglePage: Bool, limitMiB: Int) {
        #expect(MappedPages.limit(fileSize: fileMiB << 20, bySinglePage: bySinglePage) == limitMiB << 20)
    }

    @Test func aRecordIsReadAgainAfterItsPagesWereUnmapped() throws {
        let mapped = MappedPages { 0 }
        let environment = try environment(mapped)
        #expect(try value(environment) == [2])
        #expect(try presentKiB(mapped) > 0)
        environment.unmapPages()
        #expect(try presentKiB(mapped) == 0)
        #expect(try value(environment) == [2])
    }

    @Test func thePagesAreUnmappedOnceTooManyAreMapped() throws {
        let bytes = Mutex(0)
        let mapped = MappedPages(interval: 1) { bytes.withLock { $0 } }
        let environment = try environment(mapped)
        bytes.withLock { $0 = MappedPages.limit(fileSize: 0) }
        _ = try value(environment)
        #expect(try presentKiB(mapped) > 0)
        bytes.withLock { $0 += 1 }
        _ = try value(environment)
        #expect(try presentKiB(mapped) == 0)
    }

    @Test func pagesThatUnmappingLeavesDoNotCount() throws {
        let mapped = MappedPages(interval: 1) { 100 << 20 }
        let environment = try environment(mapped)
        environment.unmapPages()
        _ = try value(environment)
        #expect(try presentKiB(mapped) > 0)
    }

    @Test func theProcessIsLookedAtAfterEachIntervalOfRecords() throws {
        let looks = Mutex(0)
        let mapped = MappedPages(interval: 100) {
            looks.withLock { $0 += 1 }
            return 0
        }
        for _ in 1...300 { mapped.used() }
        #expect(looks.withLock { $0 } == 3)
    }

    @Test func theAddressesFollowTheMap() throws {
        let mapped = MappedPages { 0 }
        let environment = try environment(mapped)
        #expect(mapped.addresses?.count == 64 << 20)
        try environment.grow()
        #expect(mapped.addresses?.count == 128 << 20)
        #expect(try value(environment) == [2])
        try environment.reopen()
        #expect(try value(environment) == [2])
        #expect(try presentKiB(mapped) > 0)
        environment.close()
        #expect(mapped.addresses == nil)
        environment.unmapPages()
    }
}

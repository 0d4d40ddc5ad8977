import Foundation
import TestSupport
import Testing

@testable import Ledger

struct EnvironmentTests {
    private let directory: TemporaryDirectory
    private let environment: Environment
    private let table: Table

    init() throws {
        directory = try TemporaryDirectory()
        environment = try Environment(path: directory.path("db"), tables: ["a", "b"], mapSize: 64 << 20)
        table = environment.tables[0]
    }

    private func value(_ key: [UInt8]) throws -> [UInt8]? {
        try environment.read { transaction throws(LMDBError) in try transaction.get(table, key) { Array($0) } }
    }

    private func put(_ key: [UInt8], _ value: [UInt8]) throws {
        try environment.write { transaction throws(LMDBError) in try transaction.put(table, key, value) }
    }

    @Test func aStoredValueIsFoundAndARemovedOneIsNot() throws {
        try put([1], [2, 3])
        #expect(try value([1]) == [2, 3])
        let removed = try environment.write { transaction throws(LMDBError) in try transaction.remove(table, [1]) }
        #expect(removed)
        #expect(try value([1]) == nil)
    }

    @Test func aWalkGoesByTheOrderOfKeysFromTheStart() throws {
        for key in [[3], [1], [2], [2, 0]] as [[UInt8]] { try put(key, []) }
        var keys: [[UInt8]] = []
        try environment.read { transaction throws(LMDBError) in
            try transaction.scan(table, from: [2]) { key, _ in
                keys.append(Array(key))
                return true
            }
        }
        #expect(keys == [[2], [2, 0], [3]])
    }

    @Test func anErrorInTheBodyUndoesItsChanges() throws {
        #expect(throws: LMDBError.self) {
            try environment.write { transaction throws(LMDBError) in
                try transaction.put(table, [1], [1])
                try transaction.put(table, [], [1])
            }
        }
        #expect(try value([1]) == nil)
    }

    @Test func anErrorNamesTheCallTheTableAndTheReason() throws {
        let error = #expect(throws: LMDBError.self) { try put([UInt8](repeating: 1, count: 512), []) }
        #expect(error?.operation == "mdb_put")
        #expect(error?.context == "a")
        #expect(error?.code == MDBCode.badValueSize)
        #expect(error?.description.contains("MDB_BAD_VALSIZE") == true)
    }

    @Test func aWriteInsideAWriteIsRefusedInsteadOfWaitingForItself() throws {
        let error = #expect(throws: LMDBError.self) {
            try environment.write { _ throws(LMDBError) in try environment.write { _ throws(LMDBError) in } }
        }
        #expect(error?.code == EDEADLK)
    }

    @Test func aFullMapIsToldAndGrowingMakesRoom() throws {
        let large = [UInt8](repeating: 7, count: 50 << 20)
        try put([1], large)
        let error = #expect(throws: LMDBError.self) { try put([2], large) }
        #expect(error?.code == MDBCode.mapFull)
        try environment.grow()
        try put([2], large)
        #expect(try value([2])?.count == large.count)
    }

    @Test func growingWaitsForReadersAndHarmsNone() async throws {
        try put([1], [UInt8](repeating: 9, count: 100_000))
        let environment = environment
        let table = table
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    (0..<2000).allSatisfy { _ in
                        let sum = try? environment.read { transaction throws(LMDBError) in
                            try transaction.get(table, [1]) { $0.reduce(0) { $0 + Int($1) } }
                        }
                        return sum == 900_000
                    }
                }
            }
            for _ in 0..<6 { #expect(throws: Never.self) { try environment.grow() } }
            for await sound in group { #expect(sound) }
        }
    }

    @Test func readsThatEndedPinNoOldPages() throws {
        for round in 0..<100 {
            try put([1], [UInt8](repeating: UInt8(round), count: 1 << 20))
            #expect(try value([1])?.first == UInt8(round))
        }
        let size = try #require(FileManager.default.attributesOfItem(atPath: directory.path("db"))[.size] as? Int)
        #expect(size < 16 << 20)
    }

    @Test func reopeningKeepsWhatWasCommitted() throws {
        try put([1], [1])
        try environment.reopen()
        #expect(try value([1]) == [1])
    }

    @Test func aFileThatCannotBeOpenedAnewIsNotAClosedOneAndIsTriedAgain() throws {
        try put([1], [1])
        let path = directory.path("db")
        #expect(rename(path, path + ".away") == 0 && mkdir(path, 0o700) == 0)
        #expect(throws: LMDBError.self) { try environment.reopen() }
        #expect(environment.hasFailed)
        let error = #expect(throws: LMDBError.self) { try value([1]) }
        #expect(error?.isClosed == false)
        #expect(rmdir(path) == 0 && rename(path + ".away", path) == 0)
        try environment.reopen()
        #expect(!environment.hasFailed)
        #expect(try value([1]) == [1])
    }

    @Test func aMetaPageThatCannotBeWrittenKeepsNobodyFromReading() throws {
        try put([1], [1])
        #expect(try FullDevice.replaceSynchronousDescriptors(of: directory.path("db")) == 1)
        let error = #expect(throws: LMDBError.self) { try put([1], [2]) }
        #expect(error?.code == ENOSPC)
        #expect(try value([1]) == [1])
        try put([1], [3])
        #expect(try value([1]) == [3])
    }

    @Test func readersThatMeetAFailedMetaPageTogetherAllGetTheirAnswer() async throws {
        try put([1], [1])
        let environment = environment
        let table = table
        for _ in 0..<5 {
            #expect(try FullDevice.replaceSynchronousDescriptors(of: directory.path("db")) == 1)
            #expect(throws: LMDBError.self) { try put([1], [2]) }
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        (0..<100).allSatisfy { _ in
                            let value = try? environment.read { transaction throws(LMDBError) in
                                try transaction.get(table, [1]) { Array($0) }
                            }
                            return value == [1]
                        }
                    }
                }
                for await sound in group { #expect(sound) }
            }
        }
    }

    @Test func aClosedEnvironmentThrows() throws {
        environment.close()
        #expect(throws: LMDBError.self) { try value([1]) }
    }

    @Test func everyDescriptorOfTheFilesIsCloseOnExec() throws {
        var found = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            guard let descriptor = Int32(name), target?.hasPrefix(directory.path) == true else { continue }
            found += 1
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
        #expect(found >= 2)
    }
}

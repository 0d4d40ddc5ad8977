import Intake
import Ledger
import LinuxSystem
import UploadCore

/// Answers the questions of `Thumbnails` from path book, upload machine, ledger and disk.
struct ContentWorld: ContentFacts {
    let world: PathWorld
    /// The paths that are not in a final state.
    let active: PathMap<DropRecord>

    func records(of key: ContentKey) throws(LedgerError) -> [DropRecord] {
        let stored = try world.stored.records(of: key).map(\.path)
        return Set(world.machine.waiters(of: key)).union(stored).compactMap { active[$0] ?? world.storedRecord(of: $0) }
            .filter { $0.key == key }
    }

    func isHeld(_ key: ContentKey) throws(LedgerError) -> Bool {
        if !world.machine.waiters(of: key).isEmpty { return true }
        return try world.stored.anyRecord(of: key) != nil
    }

    func open(_ record: DropRecord) -> SharedDescriptor? {
        world.files.open(record.path, ifStill: record.identity)
    }
}

import Testing

@testable import Doctor

struct DirectoryFactsTests {
    private static let disk = FileSystem(
        name: "ext4", kind: .local, isReadOnly: false, available: 10 << 30, freeInodes: 1_000_000)

    private func facts(_ change: (inout DirectoryFacts.Present) -> Void = { _ in }) -> DirectoryFacts {
        var present = DirectoryFacts.Present(
            permissions: 0o700, owner: 1000, isReadable: true, isWritable: true, fileSystem: Self.disk)
        change(&present)
        return DirectoryFacts(path: "/data", state: .present(present), user: 1000)
    }

    /// The worst level of each check.
    private func levels(_ findings: [Finding]) -> [Check: Finding.Level] {
        let order = Finding.Level.allCases
        return Dictionary(findings.map { ($0.check, $0.level) }) { first, second in
            order.last { $0 == first || $0 == second } ?? first
        }
    }

    // MARK: The outbox

    @Test func `an outbox that can be read and written on a disk with room is fine`() {
        #expect(
            levels(facts().outboxFindings()) == [.outbox: .ok, .outboxFileSystem: .ok, .outboxSpace: .ok])
    }

    @Test func `an outbox that is not there yet is a note, and one that can't be made a stop`() {
        var facts = facts()
        facts.state = .missing(obstacle: nil)
        #expect(levels(facts.outboxFindings()) == [.outbox: .note])
        #expect(levels(facts.outboxFindings(isKnown: true)) == [.outbox: .stop], "unmounted, or moved away")
        facts.state = .missing(obstacle: "/ can't be written to")
        #expect(levels(facts.outboxFindings()) == [.outbox: .stop])
    }

    @Test(arguments: [DirectoryFacts.State.notADirectory, .unreachable("Permission denied")])
    func `an outbox that is no directory or can't be reached stops uploads`(state: DirectoryFacts.State) {
        var facts = facts()
        facts.state = state
        #expect(levels(facts.outboxFindings()) == [.outbox: .stop])
    }

    @Test func `an outbox that can't be listed stops uploads`() {
        #expect(levels(facts { $0.isReadable = false }.outboxFindings())[.outbox] == .stop)
    }

    @Test func `an outbox that can't be written to only costs the sidecars`() {
        let finding = facts { $0.isWritable = false }.outboxFindings()[0]
        #expect(finding.level == .warning)
        #expect(finding.message.contains("no sidecars"))
    }

    @Test func `a read-only mount of the outbox is said to be one`() {
        let findings = facts {
            $0.isWritable = false
            $0.fileSystem.isReadOnly = true
        }.outboxFindings()
        #expect(findings[0].message.contains("mounted read-only"))
        #expect(levels(findings)[.outboxSpace] == nil, "no room is needed there")
    }

    @Test(arguments: [FileSystem.Kind.network, .fuse])
    func `an outbox on a share is polled, which is a note`(kind: FileSystem.Kind) {
        let findings = facts { $0.fileSystem.kind = kind }.outboxFindings()
        #expect(levels(findings)[.outboxFileSystem] == .note)
    }

    @Test func `an outbox in memory is a warning`() {
        #expect(levels(facts { $0.fileSystem.kind = .memory }.outboxFindings())[.outboxFileSystem] == .warning)
    }

    @Test func `a full disk below the outbox is a warning, in bytes and in inodes`() {
        #expect(levels(facts { $0.fileSystem.available = 1 << 20 }.outboxFindings())[.outboxSpace] == .warning)
        #expect(levels(facts { $0.fileSystem.freeInodes = 0 }.outboxFindings())[.outboxSpace] == .warning)
    }

    // MARK: Sidecars

    @Test func `trouble with the directory of sidecars never stops uploads`() {
        let broken: [DirectoryFacts.State] = [
            .missing(obstacle: "no"), .notADirectory, .unreachable("Input/output error"),
        ]
        for state in broken {
            #expect(
                levels(DirectoryFacts(path: "/data", state: state, user: 1).sidecarFindings) == [.sidecars: .warning])
        }
        #expect(levels(facts { $0.isWritable = false }.sidecarFindings) == [.sidecars: .warning])
        #expect(levels(facts().sidecarFindings) == [.sidecars: .ok])
    }

    // MARK: The state directory

    @Test func `a private state directory on a disk with room is fine`() {
        #expect(levels(facts().stateFindings) == [.state: .ok, .stateFileSystem: .ok, .stateSpace: .ok])
    }

    @Test func `a state directory that is not there yet is judged by the disk it will stand on`() {
        var share = Self.disk
        share.kind = .network
        let onDisk = DirectoryFacts(path: "/s", state: .missing(obstacle: nil, on: Self.disk), user: 1)
        #expect(levels(onDisk.stateFindings) == [.state: .note, .stateFileSystem: .ok, .stateSpace: .ok])
        let onShare = DirectoryFacts(path: "/s", state: .missing(obstacle: nil, on: share), user: 1)
        #expect(levels(onShare.stateFindings)[.stateFileSystem] == .stop)
    }

    @Test func `a state directory open to others is a warning with the chmod to type`() {
        let finding = facts { $0.permissions = 0o755 }.stateFindings[0]
        #expect(finding.level == .warning)
        #expect(finding.message.contains("0755"))
        #expect(finding.remedy?.contains("chmod 700 /data") == true)
    }

    @Test func `a state directory that can't be used stops uploads`() {
        #expect(levels(facts { $0.owner = 0 }.stateFindings) == [.state: .stop])
        #expect(levels(facts { $0.isWritable = false }.stateFindings) == [.state: .stop])
        #expect(levels(facts { $0.fileSystem.isReadOnly = true }.stateFindings)[.state] == .stop)
        for state in [DirectoryFacts.State.missing(obstacle: "no"), .notADirectory, .unreachable("no")] {
            #expect(levels(DirectoryFacts(path: "/s", state: state, user: 1).stateFindings) == [.state: .stop])
        }
    }

    @Test(
        arguments: [
            (.network, .stop), (.fuse, .stop), (.withoutModes, .stop), (.memory, .warning), (.local, .ok),
        ] as [(FileSystem.Kind, Finding.Level)])
    func `the ledger needs a local file system`(kind: FileSystem.Kind, level: Finding.Level) {
        #expect(levels(facts { $0.fileSystem.kind = kind }.stateFindings)[.stateFileSystem] == level)
    }

    @Test(
        arguments: [
            (15 << 20, .stop), (16 << 20, .warning), (199 << 20, .warning), (200 << 20, .ok),
        ] as [(UInt64, Finding.Level)])
    func `the ledger needs room`(available: UInt64, level: Finding.Level) {
        #expect(levels(facts { $0.fileSystem.available = available }.stateFindings)[.stateSpace] == level)
    }

    @Test(
        arguments: [(0, .stop), (15, .stop), (16, .warning), (999, .warning), (1000, .ok), (nil, .ok)]
            as [(UInt64?, Finding.Level)])
    func `the state directory needs inodes, where they can run out`(inodes: UInt64?, level: Finding.Level) {
        #expect(levels(facts { $0.fileSystem.freeInodes = inodes }.stateFindings)[.stateSpace] == level)
    }

    // MARK: File systems

    @Test(
        arguments: [
            (0xEF53, "ext4", .local), (0x6969, "nfs", .network), (0xFE53_4D42, "smb2", .network),
            (0x6573_5546, "fuse", .fuse), (0x0102_1994, "tmpfs", .memory), (0x4D44, "vfat", .withoutModes),
            (0x1234_5678, "0x12345678", .network),
        ] as [(UInt32, String, FileSystem.Kind)])
    func `file systems are told by their magic number`(magic: UInt32, name: String, kind: FileSystem.Kind) {
        #expect(FileSystem.identify(magic: magic) == (name, kind))
    }
}

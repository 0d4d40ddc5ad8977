/// How the last run left the ledger, as recorded in `<state>/ledger-mark`.
struct LedgerMark: Equatable, Sendable {
    /// Phases of a run. Each word fits into 8 bytes, so that a new phase overwrites the old one in place.
    enum Phase: String, Sendable {
        /// The run was opening the ledger.
        case opening
        /// The run had the ledger open. If it no longer runs, it was killed or the machine stopped.
        case running
        /// The run closed the ledger.
        case closed
        /// An error signal ended the run. The signal handler writes this phase.
        case crashed
        /// Another program changed the file, or LMDB found invalid pages.
        case suspect
    }

    var phase: Phase
    /// Number of runs in a row that crashed, or died while opening the ledger.
    var crashes: Int
    /// The boot id of the machine during that run (man 5 proc, `/proc/sys/kernel/random/boot_id`).
    var boot: String

    /// The mark as one line: phase in 8 columns, crashes, boot.
    var line: String {
        let padding = String(repeating: " ", count: 8 - phase.rawValue.utf8.count)
        return "\(phase.rawValue)\(padding) \(crashes) \(boot)\n"
    }

    init(phase: Phase, crashes: Int, boot: String) {
        self.phase = phase
        self.crashes = crashes
        self.boot = boot
    }

    /// Parses a line.
    ///
    /// - Returns: `nil` if the line is not a mark.
    init?(line: String) {
        let words = line.prefix { $0 != "\n" }.split(separator: " ")
        guard words.count == 3, let phase = Phase(rawValue: String(words[0])), let crashes = Int(words[1]),
            crashes >= 0
        else { return nil }
        self.init(phase: phase, crashes: crashes, boot: String(words[2]))
    }
}

/// What to do with the ledger's file before opening it.
enum LedgerCheck: Equatable, Sendable {
    /// Open the file as it is.
    case none
    /// Read every page and record first.
    case inspect
    /// Rebuild the ledger, even if an inspection finds no damage.
    case rebuild(String)

    /// Files up to this size, in bytes, are inspected at every start. That takes some tens of milliseconds.
    static let smallFile: UInt64 = 32 << 20
    /// After this many crashes in a row, the ledger is rebuilt even if it looks sound.
    static let patience = 3

    /// Chooses the check.
    ///
    /// - Parameters:
    ///   - mark: the mark of the last run; `nil` if it can't be read.
    ///   - crashes: number of crashed runs in a row, including the last one.
    ///   - boot: the machine's current boot id.
    ///   - size: the file's size in bytes.
    init(after mark: LedgerMark?, crashes: Int, boot: String, size: UInt64) {
        switch mark?.phase {
        case .suspect:
            self = .rebuild("the last run found damage in it")
        case .crashed, .opening:
            let isPatient = crashes % Self.patience != 0
            self = isPatient ? .inspect : .rebuild("the agent crashed \(crashes) times in a row with it")
        case .running where mark?.boot == boot, .closed:
            // A kill or a clean end leaves the file as LMDB wrote it.
            self = size <= Self.smallFile ? .inspect : .none
        case .running, nil:
            self = .inspect
        }
    }
}

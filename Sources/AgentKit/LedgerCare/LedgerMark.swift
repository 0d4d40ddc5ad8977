/// How the last run parted with the ledger, as it stands in `<state>/ledger-mark`.
struct LedgerMark: Equatable, Sendable {
    /// Words of at most 8 bytes, so that one can be written over another.
    enum Phase: String, Sendable {
        /// It was opening the ledger.
        case opening
        /// It had the ledger open; if it no longer runs, it was killed or the machine stopped.
        case running
        /// It closed the ledger.
        case closed
        /// It ended by a signal that tells of an error; written by the signal's handler.
        case crashed
        /// The file was changed by something else, or LMDB met pages that make no sense.
        case suspect
    }

    var phase: Phase
    /// Runs in a row that crashed, or died while opening the ledger.
    var crashes: Int
    /// Which start of the machine it was (man 5 proc, `/proc/sys/kernel/random/boot_id`).
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

    /// Reads a line.
    ///
    /// - Returns: nil where it is not one.
    init?(line: String) {
        let words = line.prefix { $0 != "\n" }.split(separator: " ")
        guard words.count == 3, let phase = Phase(rawValue: String(words[0])), let crashes = Int(words[1]),
            crashes >= 0
        else { return nil }
        self.init(phase: phase, crashes: crashes, boot: String(words[2]))
    }
}

/// What is done with the ledger's file before it is opened.
enum LedgerCheck: Equatable, Sendable {
    /// It is opened as it is.
    case none
    /// Every page and record is read first.
    case inspect
    /// It is not to be trusted, whatever a look at it finds.
    case rebuild(String)

    /// A file up to this size is looked through at every start, in some tens of milliseconds; in bytes.
    static let smallFile: UInt64 = 32 << 20
    /// After so many crashes in a row the ledger is rebuilt although it looks sound.
    static let patience = 3

    /// Decides.
    ///
    /// - Parameters:
    ///   - mark: what the last run left; nil where nothing can be read.
    ///   - crashes: runs in a row that crashed, the last one included.
    ///   - boot: which start of the machine this is.
    ///   - size: the file's size in bytes.
    init(after mark: LedgerMark?, crashes: Int, boot: String, size: UInt64) {
        switch mark?.phase {
        case .suspect:
            self = .rebuild("the last run met damage in it")
        case .crashed, .opening:
            let isPatient = crashes % Self.patience != 0
            self = isPatient ? .inspect : .rebuild("the agent crashed \(crashes) times in a row with it")
        case .running where mark?.boot == boot, .closed:
            // A kill and a clean end leave the file as LMDB wrote it.
            self = size <= Self.smallFile ? .inspect : .none
        case .running, nil:
            self = .inspect
        }
    }
}

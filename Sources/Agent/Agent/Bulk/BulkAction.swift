import Ledger
import UploadCore

/// A user's action on everything, or on everything below a directory.
///
/// The ledger holds it until the agent has carried it out, so that a restart continues it.
struct BulkAction: Equatable, Sendable {
    /// What to do.
    var action: UserAction
    /// The directory that the user named; `nil` for everything.
    var directory: RelativePath?
    /// When the user asked. Files that arrive later are not concerned.
    var askedAt: WallTime

    /// The place of all files concerned.
    var place: RelativePath { directory ?? .root }

    /// Whether a file was there when the user asked, as far as the wall clock tells.
    ///
    /// - Parameter now: the present time. A later time of arrival comes from a clock that was wrong.
    func reaches(_ record: DropRecord, at now: WallTime) -> Bool {
        let isOld = { (time: WallTime) in
            time.milliseconds <= askedAt.milliseconds || time.milliseconds > now.milliseconds
        }
        return record.path.isWithin(place) && isOld(record.acceptedAt)
            // A file that failed after its retry is not retried again.
            && (action != .retry || record.finishedAt.map(isOld) ?? true)
    }
}

/// The actions on many files that are not carried out yet, in order.
struct BulkActions: Sendable {
    /// The actions, the oldest first.
    private(set) var pending: [(number: UInt64, action: BulkAction)] = []
    private var lastNumber: UInt64 = 0
    /// Files on which the user acted by name since: these actions are newer than those up to this number.
    private var touched: [RelativePath: UInt64] = [:]

    /// Creates the actions that the last run left.
    init(stored: [UInt8]? = nil) {
        let fields = (stored ?? []).split(separator: 0, omittingEmptySubsequences: false)
        for start in stride(from: 0, to: fields.count - 3, by: 4) {
            let words = fields[start..<start + 3].map { String(decoding: $0, as: UTF8.self) }
            let bytes = Array(fields[start + 3])
            guard let action = UserAction(rawValue: words[0]), let time = Int64(words[1]),
                let path = bytes.isEmpty ? .root : RelativePath(bytes)
            else { continue }
            let directory = words[2] == "below" ? path : nil
            _ = add(BulkAction(action: action, directory: directory, askedAt: WallTime(milliseconds: time)))
        }
    }

    /// The change of the ledger that stores the actions: for each its name, its time, its kind and its directory.
    var write: LedgerWrite {
        if pending.isEmpty { return .setting(LedgerSetting.bulkActions, nil) }
        let fields = pending.flatMap { _, bulk in
            [
                Array(bulk.action.rawValue.utf8), Array("\(bulk.askedAt.milliseconds)".utf8),
                Array((bulk.directory == nil ? "all" : "below").utf8), bulk.place.bytes,
            ]
        }
        return .setting(LedgerSetting.bulkActions, Array(fields.joined(separator: [0])))
    }

    /// Adds an action and returns its number.
    mutating func add(_ action: BulkAction) -> UInt64 {
        lastNumber += 1
        pending.append((lastNumber, action))
        return lastNumber
    }

    /// Returns the action to carry out next: the oldest, or the oldest that may overtake a retry that waits for room.
    ///
    /// What overtakes it ends files after the retry was asked for, so the retry is not about these any more.
    func next(overtaking: Bool = false) -> (number: UInt64, action: BulkAction)? {
        pending.first { !overtaking || $0.action.action != .retry }
    }

    /// Removes an action, which is carried out.
    mutating func remove(_ number: UInt64) {
        pending.removeAll { $0.number == number }
        if pending.isEmpty { touched = [:] }
    }

    /// Records that the user acts on files by name.
    mutating func note(actionOn paths: [RelativePath]) {
        if pending.isEmpty { return }
        for path in paths { touched[path] = lastNumber }
    }

    /// Whether a newer action on the file itself outdates the action with this number.
    func isOutdated(_ number: UInt64, for path: RelativePath) -> Bool { touched[path].map { $0 >= number } ?? false }
}

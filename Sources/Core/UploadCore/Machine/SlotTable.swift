/// Uploads that take shares of slots, in the order they got them.
///
/// Holds a copy of the few numbers by which slots and fragments are given out: a decision about them follows almost every
/// event, and dozens of small uploads have slots at once.
struct SlotTable: Sendable {
    /// What an upload takes.
    private struct Slot {
        let key: ContentKey
        let share: Int
        let fragments: Int
        var inFlight: Int
    }

    private var slots: [Slot] = []
    /// The shares of all uploads together.
    private(set) var total = 0

    var count: Int { slots.count }
    var keys: [ContentKey] { slots.map(\.key) }
    var first: ContentKey? { slots.first?.key }

    /// The upload that came last, and the shares of all others together; nil if there is none.
    var last: (key: ContentKey, others: Int)? { slots.last.map { ($0.key, total - $0.share) } }

    /// The uploads that may have fragments to send.
    var senders: [ContentKey] { slots.filter { $0.inFlight < $0.fragments }.map(\.key) }

    /// Returns the number of fragments in flight; nil if the table does not hold the upload.
    func inFlight(of key: ContentKey) -> Int? { index(of: key).map { slots[$0].inFlight } }

    /// Records the number of fragments in flight, if the table holds the upload.
    mutating func setInFlight(_ count: Int, of key: ContentKey) {
        if let index = index(of: key) { slots[index].inFlight = count }
    }

    /// Adds an upload behind all others, unless the table holds it already.
    mutating func append(_ upload: Upload) {
        if index(of: upload.key) != nil { return }
        slots.append(
            Slot(
                key: upload.key, share: upload.slotShare, fragments: upload.record.plan.count,
                inFlight: upload.inFlight.count))
        total += upload.slotShare
    }

    /// Removes an upload.
    ///
    /// - Returns: whether the table held the upload.
    @discardableResult
    mutating func remove(_ key: ContentKey) -> Bool {
        guard let index = index(of: key) else { return false }
        total -= slots.remove(at: index).share
        return true
    }

    private func index(of key: ContentKey) -> Int? { slots.firstIndex { $0.key == key } }
}

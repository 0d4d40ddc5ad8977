import UploadCore

/// Subjects by the time when they are due. The caller rounds the times, so that subjects of almost the same time share
/// a slot and a wake-up.
struct DueSlots: Sendable {
    private var slots: [MonotonicTime: [SidecarSubject]] = [:]
    /// The earliest time.
    private(set) var first: MonotonicTime?

    mutating func insert(_ subject: SidecarSubject, at time: MonotonicTime) {
        slots[time, default: []].append(subject)
        first = first.map { min($0, time) } ?? time
    }

    /// Removes and returns a subject of the earliest slot, if its time has come.
    mutating func popFirst(until now: MonotonicTime) -> (subject: SidecarSubject, time: MonotonicTime)? {
        guard let first, first <= now, let subject = slots[first]?.popLast() else { return nil }
        if slots[first]?.isEmpty == true {
            slots[first] = nil
            self.first = slots.keys.min()
        }
        return (subject, first)
    }
}

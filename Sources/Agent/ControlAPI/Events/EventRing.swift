/// A ring of the last events. New events overwrite the oldest.
struct EventRing: Sendable {
    private let capacity: Int
    private var events: [EventHub.Event] = []
    /// The number of the newest event; 0 before the first.
    private(set) var lastNumber: UInt64 = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    mutating func add(_ content: EventHub.Content) {
        lastNumber += 1
        let event = EventHub.Event(number: lastNumber, content: content)
        if events.count < capacity {
            events.append(event)
        } else {
            events[place(of: lastNumber)] = event
        }
    }

    /// Returns the events after a number. Returns a reset if some are lost, or if the number is in the future.
    func news(after number: UInt64) -> EventHub.News {
        let oldest = lastNumber - UInt64(events.count)
        guard number >= oldest, number <= lastNumber else { return .reset(next: lastNumber) }
        guard number < lastNumber else { return .events([]) }
        return .events((number + 1...lastNumber).map { events[place(of: $0)] })
    }

    private func place(of number: UInt64) -> Int { Int((number - 1) % UInt64(capacity)) }
}

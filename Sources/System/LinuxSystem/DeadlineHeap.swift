/// A binary heap of values with deadlines, the earliest deadline first.
public struct DeadlineHeap<Time: Comparable, Value> {
    private var items: [(time: Time, value: Value)] = []

    /// Creates an empty heap.
    public init() {}

    /// The number of values.
    public var count: Int { items.count }

    /// The earliest deadline.
    public var first: Time? { items.first?.time }

    /// Adds a value.
    public mutating func push(_ value: Value, at time: Time) {
        items.append((time, value))
        var child = items.count - 1
        while child > 0, items[child].time < items[(child - 1) / 2].time {
            items.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the earliest value if its deadline has passed.
    public mutating func pop(until now: Time) -> (time: Time, value: Value)? {
        guard let earliest = items.first, earliest.time <= now else { return nil }
        items.swapAt(0, items.count - 1)
        items.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < items.count {
                if items[child].time < items[least].time { least = child }
            }
            if least == parent { return earliest }
            items.swapAt(parent, least)
            parent = least
        }
    }
}

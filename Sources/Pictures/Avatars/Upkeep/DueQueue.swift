import UploadCore

/// A priority queue by time, as a binary heap. Equal times keep their order of insertion.
struct DueQueue<Element> {
    private struct Item {
        let element: Element
        let due: MonotonicTime
        let number: UInt64

        func isBefore(_ other: Item) -> Bool { (due, number) < (other.due, other.number) }
    }

    private var items: [Item] = []
    private var inserted: UInt64 = 0

    /// The earliest element.
    var first: (element: Element, due: MonotonicTime)? { items.first.map { ($0.element, $0.due) } }

    /// Number of elements.
    var count: Int { items.count }

    mutating func insert(_ element: Element, due: MonotonicTime) {
        inserted += 1
        items.append(Item(element: element, due: due, number: inserted))
        var child = items.count - 1
        while child > 0, case let parent = (child - 1) / 2, items[child].isBefore(items[parent]) {
            items.swapAt(child, parent)
            child = parent
        }
    }

    /// Removes the earliest element, if any.
    mutating func removeFirst() {
        guard let last = items.popLast(), !items.isEmpty else { return }
        items[0] = last
        var parent = 0
        while true {
            let earliest = [2 * parent + 1, 2 * parent + 2].filter { $0 < items.count }
                .reduce(parent) { items[$1].isBefore(items[$0]) ? $1 : $0 }
            if earliest == parent { return }
            items.swapAt(parent, earliest)
            parent = earliest
        }
    }
}

/// A binary heap with the smallest element first. Callers skip stale entries when they remove them.
struct PriorityQueue<Element: Comparable & Sendable>: Sendable {
    private var elements: [Element] = []

    init() {}

    init(_ elements: some Sequence<Element>) {
        // A sorted array is a heap.
        self.elements = elements.sorted()
    }

    /// The elements that meet a condition, in no particular order.
    func filter(_ isIncluded: (Element) -> Bool) -> [Element] { elements.filter(isIncluded) }

    var isEmpty: Bool { elements.isEmpty }
    var count: Int { elements.count }
    var first: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[child] < elements[parent] else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() -> Element? {
        guard let first = elements.first, let last = elements.popLast() else { return nil }
        guard !elements.isEmpty else { return first }
        elements[0] = last
        var parent = 0
        while true {
            let left = parent * 2 + 1
            let right = left + 1
            var smallest = parent
            if left < elements.count, elements[left] < elements[smallest] { smallest = left }
            if right < elements.count, elements[right] < elements[smallest] { smallest = right }
            if smallest == parent { return first }
            elements.swapAt(parent, smallest)
            parent = smallest
        }
    }
}

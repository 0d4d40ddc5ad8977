/// A queue between two threads. A full queue makes the producer wait, so that a slow consumer costs no memory.
public final class BoundedQueue<Element: Sendable>: @unchecked Sendable {
    // Unchecked: the variables are only touched within `monitor.locked`.
    private let monitor = Monitor()
    private let capacity: Int
    private var elements: [Element] = []
    private var head = 0
    private var isAnnounced = false
    private var isClosed = false

    /// Creates an empty queue.
    ///
    /// - Parameter capacity: `add` waits while at least this many elements are queued.
    public init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    /// The number of queued elements.
    public var count: Int { monitor.locked { elements.count - head } }

    /// Waits until the queue is not full, then queues all given elements. After `close`, drops them at once.
    ///
    /// - Parameter merge: may combine an element with the waiting ones instead of queueing it; returns whether it
    ///   did.
    /// - Returns: whether the caller must wake the consumer. True for the first new element after `next` returned
    ///   nil.
    public func add(
        _ new: [Element], merge: (Element, inout [Element]) -> Bool = { _, _ in false }
    ) -> Bool {
        monitor.locked {
            while elements.count - head >= capacity && !isClosed { monitor.wait() }
            if isClosed { return false }
            elements.removeFirst(head)
            head = 0
            for element in new where !merge(element, &elements) { elements.append(element) }
            if isAnnounced || elements.isEmpty { return false }
            isAnnounced = true
            return true
        }
    }

    /// Removes and returns the oldest element; nil if the queue is empty.
    public func next() -> Element? {
        monitor.locked {
            guard head < elements.count else {
                elements.removeAll(keepingCapacity: true)
                head = 0
                isAnnounced = false
                return nil
            }
            let element = elements[head]
            head += 1
            if elements.count - head < capacity { monitor.signal() }
            return element
        }
    }

    /// Drops all elements and all later additions; releases waiting producers.
    public func close() {
        monitor.locked {
            isClosed = true
            elements = []
            head = 0
            monitor.broadcast()
        }
    }
}

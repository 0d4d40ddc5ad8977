import Glibc

/// A queue between two threads that makes the producer wait while it is full, so that a slow consumer costs no memory.
public final class BoundedQueue<Element: Sendable>: @unchecked Sendable {
    // Unchecked: the variables are only touched with `mutex` held; the condition needs a stable address, which Swift's
    // own Mutex does not offer.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let capacity: Int
    private var elements: [Element] = []
    private var head = 0
    private var isAnnounced = false
    private var isClosed = false

    /// An empty queue.
    ///
    /// - Parameter capacity: `add` waits while so many elements are queued.
    public init(capacity: Int) {
        self.capacity = max(1, capacity)
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Waits until the queue is not full, then queues elements, all of them. After `close`, drops them at once.
    ///
    /// - Parameter merge: may combine an element with those that wait already instead of queueing it.
    /// - Returns: whether the consumer must be woken: nobody has been told of elements since `next` last returned nil.
    public func add(
        _ new: [Element], merge: (Element, inout [Element]) -> Bool = { _, _ in false }
    ) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while elements.count - head >= capacity && !isClosed { pthread_cond_wait(condition, mutex) }
        if isClosed { return false }
        elements.removeFirst(head)
        head = 0
        for element in new where !merge(element, &elements) { elements.append(element) }
        if isAnnounced || elements.isEmpty { return false }
        isAnnounced = true
        return true
    }

    /// Takes the oldest element; nil where there is none.
    public func next() -> Element? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard head < elements.count else {
            elements.removeAll(keepingCapacity: true)
            head = 0
            isAnnounced = false
            return nil
        }
        let element = elements[head]
        head += 1
        if elements.count - head < capacity { pthread_cond_signal(condition) }
        return element
    }

    /// Drops all elements, and every one that is added from now on; nobody waits any more.
    public func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        elements = []
        head = 0
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }
}

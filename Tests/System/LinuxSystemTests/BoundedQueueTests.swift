import LinuxSystem
import Synchronization
import TestSupport
import Testing

@Suite("Bounded queue")
struct BoundedQueueTests {
    @Test("returns elements in order, and wakes the consumer once until the queue is empty")
    func order() {
        let queue = BoundedQueue<Int>(capacity: 10)
        #expect(queue.add([1, 2]))
        #expect(!queue.add([3]))
        #expect((0..<3).map { _ in queue.next() } == [1, 2, 3])
        #expect(!queue.add([4]))
        #expect(queue.next() == 4)
        #expect(queue.next() == nil)
        #expect(queue.add([5]))
    }

    @Test("merges new elements only into waiting elements")
    func merge() {
        let queue = BoundedQueue<Int>(capacity: 10)
        let merge = { (element: Int, waiting: inout [Int]) -> Bool in
            guard waiting.last == -element else { return false }
            waiting.removeLast()
            return true
        }
        #expect(!queue.add([7, -7], merge: merge))
        #expect(queue.add([1, 2], merge: merge))
        #expect(queue.next() == 1)
        #expect(!queue.add([-2, -1], merge: merge))
        #expect(queue.next() == -1)
        #expect(queue.next() == nil)
    }

    @Test("blocks the producer while the queue is full, until elements are taken or the queue closes")
    func full() async throws {
        let queue = BoundedQueue<Int>(capacity: 2)
        let added = Atomic<Int>(0)
        let producer = SerialThread(name: "producer")
        for number in 0..<4 {
            producer.run {
                _ = queue.add([number])
                added.add(1, ordering: .sequentiallyConsistent)
            }
        }
        try await Poll.until("two to be queued") { added.load(ordering: .sequentiallyConsistent) == 2 }
        #expect(queue.next() == 0)
        try await Poll.until("a third to be queued") { added.load(ordering: .sequentiallyConsistent) == 3 }
        #expect(added.load(ordering: .sequentiallyConsistent) == 3)
        queue.close()
        try await Poll.until("the producer to go on") { added.load(ordering: .sequentiallyConsistent) == 4 }
        #expect(queue.next() == nil)
    }
}

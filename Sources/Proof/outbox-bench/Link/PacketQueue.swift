/// One direction of a link: a queue of packets that wait for their turn and for their delay.
struct PacketQueue: ~Copyable {
    /// The maximum size of a packet, in bytes.
    static let packetSize = 2048
    private static let capacity = 1 << 15

    private struct Entry {
        var due: UInt64
        var count: Int
    }

    private let shape: LinkShape
    private let packets = UnsafeMutableRawBufferPointer.allocate(
        byteCount: capacity * packetSize, alignment: 16)
    private var entries = [Entry](repeating: Entry(due: 0, count: 0), count: capacity)
    private var head = 0
    private var tail = 0
    /// When the link has sent all packets of the queue.
    private var freeAt: UInt64 = 0
    private var random: UInt64

    /// - Parameter seed: decides which packets are lost; not 0.
    init(_ shape: LinkShape, seed: UInt64) {
        self.shape = shape
        random = seed
    }

    deinit { packets.deallocate() }

    /// When the next packet arrives at the other end; nil if the queue is empty.
    var nextDue: UInt64? { head == tail ? nil : entries[head % Self.capacity].due }

    /// The memory for the next packet.
    var space: UnsafeMutableRawBufferPointer { slot(tail) }

    /// Queues the packet in `space`, unless the link loses it or its queue is full.
    mutating func add(_ count: Int, at now: UInt64) {
        if shape.loss > 0, chance() < shape.loss { return }
        let start = max(now, freeAt)
        guard Double(start - now) <= LinkShape.queue * 1e9, tail - head < Self.capacity - 1 else { return }
        freeAt = start + UInt64(Double(count) * 8e9 / shape.rate)
        entries[tail % Self.capacity] = Entry(due: freeAt + UInt64(shape.roundTrip * 0.5e9), count: count)
        tail += 1
    }

    /// Returns the next packet if it has arrived.
    mutating func next(at now: UInt64) -> UnsafeMutableRawBufferPointer? {
        guard let due = nextDue, due <= now else { return nil }
        defer { head += 1 }
        return UnsafeMutableRawBufferPointer(rebasing: slot(head)[..<entries[head % Self.capacity].count])
    }

    private func slot(_ index: Int) -> UnsafeMutableRawBufferPointer {
        let start = index % Self.capacity * Self.packetSize
        return UnsafeMutableRawBufferPointer(rebasing: packets[start..<start + Self.packetSize])
    }

    /// Returns a random number from 0 to 1 (xorshift64).
    private mutating func chance() -> Double {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return Double(random >> 11) / Double(1 << 53)
    }
}

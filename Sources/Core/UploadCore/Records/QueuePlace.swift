/// An upload's place in the queue. Uploads are sent in ascending order.
public struct QueuePlace: Comparable, Hashable, Sendable {
    /// Lower numbers come first. `first` gives negative ones.
    public var order: Int64
    /// Decides between uploads of the same order.
    public var key: ContentKey

    /// The place before all uploads.
    public static let head = QueuePlace(order: .min, key: ContentKey(high: 0, low: 0))

    /// Creates a place.
    public init(order: Int64, key: ContentKey) {
        self.order = order
        self.key = key
    }

    /// Compares the order first, then the key.
    public static func < (left: QueuePlace, right: QueuePlace) -> Bool {
        (left.order, left.key) < (right.order, right.key)
    }
}

extension UploadRecord {
    /// The upload's place in the queue.
    public var place: QueuePlace { QueuePlace(order: order, key: key) }
}

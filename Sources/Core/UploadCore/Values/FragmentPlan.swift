/// The progress of a content as reports show it, in fragments of 512 KiB on every protocol. So the number of a finished
/// file stays the same when the protocol or the size of its fragments changes.
public struct FragmentProgress: Hashable, Sendable {
    /// The number of fragments of the content.
    public let total: Int
    /// The number of fragments that the server acknowledged.
    public let finished: Int

    /// Counts the acknowledged fragments of a plan.
    ///
    /// - Parameter bytes: the number of acknowledged bytes; counts if fragments of the plan have another size.
    public init(_ plan: FragmentPlan, acknowledged: FragmentSet, bytes: UInt64) {
        total = FragmentPlan(size: plan.size).count
        finished =
            plan.fragmentSize == FragmentPlan.sectionSize
            ? acknowledged.count
            : bytes >= plan.size ? total : Int(bytes / UInt64(FragmentPlan.sectionSize))
    }
}

/// The division of a content into fragments. A started upload keeps its plan.
public struct FragmentPlan: Hashable, Sendable {
    /// The fragment size of the fileSection protocol, 512 KiB.
    public static let sectionSize: UInt32 = 512 * 1024

    /// The size of the content in bytes.
    public let size: UInt64
    /// The size of every fragment but the last, in bytes; at least 1.
    public let fragmentSize: UInt32

    /// Creates a plan.
    ///
    /// - Parameters:
    ///   - size: the size of the content in bytes.
    ///   - fragmentSize: the size of a fragment in bytes; 0 counts as 1.
    public init(size: UInt64, fragmentSize: UInt32 = FragmentPlan.sectionSize) {
        self.size = size
        self.fragmentSize = max(1, fragmentSize)
    }

    /// The number of fragments; 0 for an empty content.
    public var count: Int {
        let step = UInt64(fragmentSize)
        return Int(size / step + (size % step == 0 ? 0 : 1))
    }

    /// Returns the number of bytes in fragments that the server acknowledged.
    public func bytes(in acknowledged: FragmentSet) -> UInt64 {
        guard count > 0 else { return 0 }
        let full = UInt64(acknowledged.count) * UInt64(fragmentSize)
        let missing = UInt64(fragmentSize) - UInt64(range(of: count - 1).count)
        return acknowledged.contains(count - 1) ? full - missing : full
    }

    /// Returns the byte range of one fragment.
    ///
    /// - Parameter index: from 0 to `count - 1`. A larger index gives an empty range at the end.
    public func range(of index: Int) -> Range<UInt64> {
        let start = min(size, UInt64(index) * UInt64(fragmentSize))
        return start..<min(size, start + UInt64(fragmentSize))
    }
}

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

    /// Returns the byte range of one fragment.
    ///
    /// - Parameter index: from 0 to `count - 1`. A larger index gives an empty range at the end.
    public func range(of index: Int) -> Range<UInt64> {
        let start = min(size, UInt64(index) * UInt64(fragmentSize))
        return start..<min(size, start + UInt64(fragmentSize))
    }
}

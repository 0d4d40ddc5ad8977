/// How a content is cut into fragments. A started upload keeps its plan.
public struct FragmentPlan: Hashable, Sendable {
    /// The fragment size of the fileSection protocol, 512 KiB.
    public static let sectionSize: UInt32 = 512 * 1024

    /// Size of the content in bytes.
    public let size: UInt64
    /// Size of every fragment but the last, in bytes; at least 1.
    public let fragmentSize: UInt32

    /// Plans a content.
    ///
    /// - Parameters:
    ///   - size: size of the content in bytes.
    ///   - fragmentSize: size of a fragment in bytes; 0 is taken as 1.
    public init(size: UInt64, fragmentSize: UInt32 = FragmentPlan.sectionSize) {
        self.size = size
        self.fragmentSize = max(1, fragmentSize)
    }

    /// Number of fragments; 0 for an empty content.
    public var count: Int {
        let step = UInt64(fragmentSize)
        return Int(size / step + (size % step == 0 ? 0 : 1))
    }

    /// The bytes of one fragment.
    ///
    /// - Parameter index: from 0 to `count - 1`; an index beyond is an empty range at the end.
    public func range(of index: Int) -> Range<UInt64> {
        let start = min(size, UInt64(index) * UInt64(fragmentSize))
        return start..<min(size, start + UInt64(fragmentSize))
    }
}

/// A page of a B+tree, parsed without trusting any byte.
struct TreePage {
    enum Kind: UInt16 {
        case branch = 1
        case leaf = 2
    }

    /// One entry of a page.
    struct Node {
        var key: Range<Int>
        /// A leaf's value, or the number of its first overflow page.
        var data: Range<Int>
        /// Size of a leaf's value in bytes.
        var size: Int
        var flags: UInt16
        /// The child page of a branch entry.
        var child: UInt64
    }

    /// The value is stored on overflow pages.
    static let bigData: UInt16 = 1
    /// The value is the header of another tree.
    static let subTree: UInt16 = 2

    let kind: Kind
    let bytes: [UInt8]
    let count: Int
    private let upper: Int

    /// - Returns: nil if the page is not a tree page, or has another number.
    init?(_ bytes: [UInt8], number: UInt64) {
        guard PageLayout.number(bytes, 0) == number,
            let kind = Kind(rawValue: PageLayout.short(bytes, PageLayout.word + 2))
        else { return nil }
        let lower = Int(PageLayout.short(bytes, PageLayout.word + 4))
        upper = Int(PageLayout.short(bytes, PageLayout.word + 6))
        guard lower >= PageLayout.header, lower % 2 == 0, lower <= upper, upper <= bytes.count else { return nil }
        self.kind = kind
        self.bytes = bytes
        count = (lower - PageLayout.header) / 2
    }

    /// Returns an entry; nil if the entry does not lie inside the page.
    func node(_ index: Int) -> Node? {
        let start = Int(PageLayout.short(bytes, PageLayout.header + 2 * index))
        guard start >= upper, start % 2 == 0, start + PageLayout.nodeHeader <= bytes.count else { return nil }
        let low = UInt64(PageLayout.short(bytes, start))
        let high = UInt64(PageLayout.short(bytes, start + 2))
        let flags = PageLayout.short(bytes, start + 4)
        let key =
            start + PageLayout.nodeHeader..<start + PageLayout.nodeHeader + Int(PageLayout.short(bytes, start + 6))
        let isBig = kind == .leaf && flags & Self.bigData != 0
        let size = kind == .leaf ? Int(low | high << 16) : 0
        let data = key.upperBound..<key.upperBound + (isBig ? PageLayout.word : size)
        guard data.upperBound <= bytes.count else { return nil }
        // "On 64 bit, 48 bits are used for the page number" (mdb.c, `NODEPGNO`).
        let child = low | high << 16 | (PageLayout.word > 4 ? UInt64(flags) << 32 : 0)
        return Node(key: key, data: data, size: size, flags: flags, child: child)
    }

    /// Whether the entries fill the used part of the page exactly, without overlap.
    var isPacked: Bool {
        var parts: [Range<Int>] = []
        for index in 0..<count {
            guard let node = node(index) else { return false }
            let end = kind == .leaf ? node.data.upperBound : node.key.upperBound
            parts.append(node.key.lowerBound - PageLayout.nodeHeader..<(end + end % 2))
        }
        var position = upper
        for part in parts.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if part.lowerBound != position { return false }
            position = part.upperBound
        }
        return position == bytes.count
    }
}

import LinuxSystem

/// Walks the B+trees of an LMDB file with plain, bounded reads and checks the properties LMDB relies on. LMDB itself
/// follows a damaged page number or length anywhere.
///
/// The walk records a fault, skips the pages made unreachable by the fault, and continues. The walk always ends,
/// since it visits no page twice.
struct PageWalk {
    /// How a tree's keys are ordered.
    enum Order {
        case bytes
        /// The machine's own words (MDB_INTEGERKEY).
        case words
    }

    /// The first fault, in one phrase.
    private(set) var fault: String?
    private let file: SharedDescriptor
    private let meta: Meta
    private let fileSize: UInt64
    /// One bit for each page, set after a visit.
    private var met: [UInt64]

    /// - Parameter size: the file's size in bytes, so that false numbers in the header cannot cost memory.
    init(file: SharedDescriptor, meta: Meta, size: UInt64) {
        self.file = file
        self.meta = meta
        fileSize = size
        let pages = min(meta.lastPage, size / meta.pageSize) + 1
        met = [UInt64](repeating: 0, count: Int(clamping: pages / 64 + 1))
        if let needed = meta.fileSize, size < needed { note("it is truncated: it has \(size) of \(needed) bytes") }
        for page in 0..<2 { _ = meet(UInt64(page)) }
    }

    /// Records a fault.
    mutating func note(_ fault: @autoclosure () -> String) {
        if self.fault == nil { self.fault = fault() }
    }

    /// Marks a page as visited.
    ///
    /// - Returns: false, and records a fault, if the page is beyond the end or was visited before.
    mutating func meet(_ page: UInt64) -> Bool {
        let word = Int(clamping: page / 64)
        guard page <= meta.lastPage, word < met.count else {
            note("page \(page) is beyond its end")
            return false
        }
        let bit = UInt64(1) << (page % 64)
        guard met[word] & bit == 0 else {
            note("page \(page) is used twice")
            return false
        }
        met[word] |= bit
        return true
    }

    /// Passes every entry of a tree to `body` in key order: key, value, and LMDB's flags of the entry.
    mutating func visit(
        _ head: TreeHead, order: Order = .bytes, _ body: (inout PageWalk, [UInt8], [UInt8], UInt16) -> Void
    ) {
        var tree = Tree(order: order, depth: Int(head.depth))
        if head.root != PageLayout.noPage {
            descend(to: Place(page: head.root, depth: 1), &tree, body)
        } else if head.depth != 0 {
            note("a tree has lost its root")
        }
        if tree.branchPages != head.branchPages || tree.leafPages != head.leafPages
            || tree.overflowPages != head.overflowPages || tree.entries != head.entries
        {
            note("a tree has another number of pages or entries than recorded")
        }
    }

    /// Totals of one tree's visited pages.
    private struct Tree {
        let order: Order
        let depth: Int
        var branchPages: UInt64 = 0
        var leafPages: UInt64 = 0
        var overflowPages: UInt64 = 0
        var entries: UInt64 = 0

        func isBefore(_ one: [UInt8], _ other: [UInt8]) -> Bool {
            if order == .words, one.count == PageLayout.word, other.count == PageLayout.word {
                return PageLayout.number(one, 0) < PageLayout.number(other, 0)
            }
            return one.lexicographicallyPrecedes(other)
        }
    }

    /// A page's number and depth, and the bounds of its keys.
    private struct Place {
        var page: UInt64
        var depth: Int
        var first: [UInt8]?
        var end: [UInt8]?
    }

    private mutating func descend(
        to place: Place, _ tree: inout Tree, _ body: (inout PageWalk, [UInt8], [UInt8], UInt16) -> Void
    ) {
        guard meet(place.page) else { return }
        guard let bytes = read(place.page, count: 1), let page = TreePage(bytes, number: place.page) else {
            return note("page \(place.page) is damaged")
        }
        if !page.isPacked { note("the entries of page \(place.page) are damaged") }
        guard (page.kind == .leaf) == (place.depth == tree.depth) else {
            return note("page \(place.page) is at the wrong depth")
        }
        switch page.kind {
        case .branch:
            tree.branchPages += 1
            for below in children(of: page, at: place) { descend(to: below, &tree, body) }
        case .leaf:
            tree.leafPages += 1
            read(page, at: place, &tree, body)
        }
    }

    private func children(of page: TreePage, at place: Place) -> [Place] {
        let nodes = (0..<page.count).compactMap { page.node($0) }
        return nodes.indices.map { index in
            // LMDB ignores the first key of a branch page.
            let first = index == 0 ? place.first : Array(page.bytes[nodes[index].key])
            let end = index + 1 < nodes.count ? Array(page.bytes[nodes[index + 1].key]) : place.end
            return Place(page: nodes[index].child, depth: place.depth + 1, first: first, end: end)
        }
    }

    private mutating func read(
        _ page: TreePage, at place: Place, _ tree: inout Tree,
        _ body: (inout PageWalk, [UInt8], [UInt8], UInt16) -> Void
    ) {
        if page.count == 0 { note("page \(place.page) is empty") }
        var previous: [UInt8]?
        for node in (0..<page.count).compactMap({ page.node($0) }) {
            let key = Array(page.bytes[node.key])
            if previous.map({ !tree.isBefore($0, key) }) ?? place.first.map({ tree.isBefore(key, $0) }) ?? false {
                note("the keys of page \(place.page) are not in order")
            }
            if let end = place.end, !tree.isBefore(key, end) { note("a key of page \(place.page) is out of place") }
            previous = key
            tree.entries += 1
            if node.flags & TreePage.bigData == 0 {
                body(&self, key, Array(page.bytes[node.data]), node.flags)
            } else if let value = overflow(of: node, in: page, &tree) {
                body(&self, key, value, node.flags & ~TreePage.bigData)
            }
        }
    }

    /// Returns a value stored on overflow pages.
    private mutating func overflow(of node: TreePage.Node, in page: TreePage, _ tree: inout Tree) -> [UInt8]? {
        let number = PageLayout.number(page.bytes, node.data.lowerBound)
        let pageSize = Int(meta.pageSize)
        let needed = (PageLayout.header + node.size - 1) / pageSize + 1
        guard number <= meta.lastPage, let bytes = read(number, count: needed),
            PageLayout.number(bytes, 0) == number,
            PageLayout.short(bytes, PageLayout.word + 2) == Self.overflowFlag
        else {
            note("page \(number) is damaged")
            return nil
        }
        // LMDB keeps the pages when a value gets shorter.
        let pages = UInt64(PageLayout.long(bytes, PageLayout.word + 4))
        guard pages >= UInt64(needed), number + pages - 1 <= meta.lastPage else {
            note("page \(number) has a wrong length")
            return nil
        }
        for page in number..<number + pages where !meet(page) { return nil }
        tree.overflowPages += pages
        return Array(bytes[PageLayout.header..<(PageLayout.header + node.size)])
    }

    /// Returns the bytes of consecutive pages; nil if the read is incomplete.
    private func read(_ page: UInt64, count: Int) -> [UInt8]? {
        let (size, overflow) = count.multipliedReportingOverflow(by: Int(meta.pageSize))
        let (offset, tooFar) = page.multipliedReportingOverflow(by: meta.pageSize)
        // The length may be false: reject ranges beyond the file's end before allocating memory.
        guard !overflow, !tooFar, offset <= fileSize, UInt64(size) <= fileSize - offset else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            initialized = (try? file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)) ?? 0
        }
        return bytes.count == size ? bytes : nil
    }

    private static let overflowFlag: UInt16 = 4
}

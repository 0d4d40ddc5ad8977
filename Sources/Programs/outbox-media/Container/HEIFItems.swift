/// The items of a HEIF file, from its box `meta` (ISO/IEC 14496-12, 8.11).
struct HEIFItems {
    /// An item: a picture, a tile, metadata.
    struct Item {
        var type: String
        var isXMP: Bool
    }

    /// What an item says of others.
    struct Reference {
        var kind: String
        var from: Int
        var to: [Int]
    }

    /// A property of items, such as their size.
    struct Property {
        var type: String
        var content: ArraySlice<UInt8>

        /// Whether it turns or mirrors the picture.
        var turns: Bool { type == "imir" || type == "irot" && (content.first ?? 0) & 3 != 0 }
    }

    /// A part of an item's bytes.
    struct Extent {
        /// 0: in the file; 1: in the box `idat`.
        var method: Int
        var offset: UInt64
        var length: UInt64
    }

    private(set) var primary: Int?
    private(set) var items: [Int: Item] = [:]
    private(set) var references: [Reference] = []
    private(set) var places: [Int: [Extent]] = [:]
    private(set) var data = Bytes([])
    /// Whether there is a box that is not understood.
    private(set) var holdsMore = false
    private var all: [Property] = []
    private var ofItems: [Int: [Int]] = [:]

    /// Whether no box was read.
    var isEmpty: Bool { items.isEmpty && primary == nil }

    func properties(of item: Int) -> [Property] {
        (ofItems[item] ?? []).compactMap { all.indices.contains($0 - 1) ? all[$0 - 1] : nil }
    }

    /// Whether an item is metadata of another one, or of the file.
    func describes(_ item: Int, _ other: Int) -> Bool {
        references.filter { $0.kind == "cdsc" && $0.from == item }.allSatisfy { $0.to.contains(other) }
    }

    func isThumbnail(_ item: Int, of other: Int) -> Bool {
        references.contains { $0.kind == "thmb" && $0.from == item && $0.to == [other] }
    }

    /// Reads the content of the box.
    mutating func read(_ meta: Bytes) throws(ContainerFailure) {
        for (type, content) in try Bytes(try meta.rest(from: 4)).boxes() {
            switch type {
            case "hdlr": if try content.text(at: 8, count: 4) != "pict" { holdsMore = true }
            case "pitm": primary = try content.int(at: 4, count: try content.number(at: 0, count: 1) == 0 ? 2 : 4)
            case "iinf": try readItems(content)
            case "iref": try readReferences(content)
            case "iprp": try readProperties(content)
            case "iloc": try readPlaces(content)
            case "idat": data = content
            case "dinf", "free", "skip": break
            default: holdsMore = true
            }
        }
    }

    private mutating func readItems(_ box: Bytes) throws(ContainerFailure) {
        let start = try box.number(at: 0, count: 1) == 0 ? 6 : 8
        for (type, entry) in try Bytes(try box.rest(from: start)).boxes() {
            let version = try entry.int(at: 0, count: 1)
            guard type == "infe", version == 2 || version == 3 else {
                holdsMore = true
                continue
            }
            let width = version == 2 ? 2 : 4
            let id = try entry.int(at: 4, count: width)
            if try entry.number(at: 4 + width, count: 2) != 0 || items[id] != nil { holdsMore = true }
            let kind = try entry.text(at: 6 + width, count: 4)
            // The name, the type of the content, and how it is encoded; each ends with a zero.
            let texts = try entry.rest(from: 10 + width).split(separator: 0, omittingEmptySubsequences: false)
            let isXMP =
                kind == "mime" && texts.dropFirst().first?.elementsEqual("application/rdf+xml".utf8) == true
                && texts.dropFirst(2).allSatisfy(\.isEmpty)
            items[id] = Item(type: kind, isXMP: isXMP)
        }
    }

    private mutating func readReferences(_ box: Bytes) throws(ContainerFailure) {
        let width = try box.number(at: 0, count: 1) == 0 ? 2 : 4
        for (kind, entry) in try Bytes(try box.rest(from: 4)).boxes() {
            let count = try entry.int(at: width, count: 2)
            var targets: [Int] = []
            for index in 0..<count { targets.append(try entry.int(at: width + 2 + width * index, count: width)) }
            references.append(Reference(kind: kind, from: try entry.int(at: 0, count: width), to: targets))
        }
    }

    private mutating func readProperties(_ box: Bytes) throws(ContainerFailure) {
        for (type, content) in try box.boxes() {
            switch type {
            case "ipco": all += try content.boxes().map { Property(type: $0.type, content: $0.content.bytes) }
            case "ipma": try readAssociations(content)
            case "free", "skip": break
            default: holdsMore = true
            }
        }
    }

    private mutating func readAssociations(_ box: Bytes) throws(ContainerFailure) {
        let idWidth = try box.number(at: 0, count: 1) == 0 ? 2 : 4
        let width = try box.number(at: 3, count: 1) & 1 == 0 ? 1 : 2
        var offset = 8
        for _ in 0..<(try box.int(at: 4, count: 4)) {
            let id = try box.int(at: offset, count: idWidth)
            let count = try box.int(at: offset + idWidth, count: 1)
            offset += idWidth + 1
            for _ in 0..<count {
                // The highest bit says that a reader must understand the property.
                ofItems[id, default: []].append(try box.int(at: offset, count: width) & (width == 1 ? 0x7F : 0x7FFF))
                offset += width
            }
        }
    }

    private mutating func readPlaces(_ box: Bytes) throws(ContainerFailure) {
        let version = try box.int(at: 0, count: 1)
        guard version <= 2 else {
            holdsMore = true
            return
        }
        let widths = try box.part(at: 4, count: 2).flatMap { [Int($0 >> 4), Int($0 & 15)] }
        let idWidth = version < 2 ? 2 : 4
        let indexWidth = version == 0 ? 0 : widths[3]
        guard widths.allSatisfy({ $0 <= 8 }) else { throw .holdsMore }
        var offset = 6 + idWidth
        func take(_ count: Int) throws(ContainerFailure) -> UInt64 {
            defer { offset += count }
            return try box.number(at: offset, count: count)
        }
        for _ in 0..<(try box.int(at: 6, count: idWidth)) {
            let id = Int(try take(idWidth))
            let method = version == 0 ? 0 : Int(try take(2) & 15)
            if try take(2) != 0 { holdsMore = true }
            let base = try take(widths[2])
            var extents: [Extent] = []
            for _ in 0..<(try take(2)) {
                _ = try take(indexWidth)
                extents.append(
                    Extent(method: method, offset: base &+ (try take(widths[0])), length: try take(widths[1])))
            }
            places[id] = extents
        }
    }
}

extension Bytes {
    /// The boxes that these bytes consist of.
    fileprivate func boxes() throws(ContainerFailure) -> [(type: String, content: Bytes)] {
        var found: [(type: String, content: Bytes)] = []
        var rest = bytes
        while !rest.isEmpty {
            let box = try BoxHead(Bytes(rest), rest: UInt64(rest.count))
            found.append((box.type, Bytes(rest.prefix(Int(box.length)).dropFirst(box.headLength))))
            rest = rest.dropFirst(Int(box.length))
        }
        return found
    }
}

/// The boxes and items of a HEIF file (ISO/IEC 23008-12; ISO/IEC 14496-12, 8.11).
///
/// Understood are one picture of HEVC, whole or in tiles, small versions of it, EXIF data and XMP. Gain maps, depth,
/// transparency, bursts and films are further items or boxes.
struct HEIFContainer {
    private static let mostBoxes = 10_000
    private static let longestMeta: UInt64 = 16 << 20
    private static let longestMetadata = 1 << 20
    /// How to decode and place the pixels; their colour.
    private static let plainProperties: Set = ["hvcC", "ispe", "pixi", "irot", "imir", "clap", "colr"]
    private static let codedItems: Set = ["hvc1", "hev1"]
    /// Bytes that no item refers to, as editors leave them.
    private static let longestGap: UInt64 = 1 << 16

    private let file: FileBytes
    private var items = HEIFItems()
    /// Bytes of all boxes of data.
    private var dataLength: UInt64 = 0
    /// Whether a box is of an unknown kind.
    private var holdsMore = false

    /// Reads the boxes. An unknown one is no error yet.
    init(_ file: FileBytes) throws(ContainerFailure) {
        self.file = file
        var offset: UInt64 = 0
        var boxes = 0
        while offset < file.length {
            let head = file.piece(at: offset, count: 16)
            guard head.count >= 8 else { throw .endsEarly }
            let box = try BoxHead(Bytes(head), rest: file.length - offset)
            let start = offset + UInt64(box.headLength)
            switch box.type {
            case "ftyp", "free", "skip": break
            case "mdat": dataLength += box.length - UInt64(box.headLength)
            case "meta" where items.isEmpty && box.length <= Self.longestMeta:
                let content = try file.bytes(at: start, count: Int(box.length) - box.headLength)
                try items.read(Bytes(content))
            default: holdsMore = true
            }
            boxes += 1
            if boxes > Self.mostBoxes { throw .holdsMore }
            offset += box.length
        }
    }

    /// The colours of the picture; nil if no box tells them in numbers.
    var colour: CodedColour? {
        let tile = items.references.first { $0.kind == "dimg" && $0.from == items.primary }?.to.first
        return [items.primary, tile].lazy.compactMap { $0 }.flatMap { items.properties(of: $0) }
            .first { $0.type == "colr" && $0.content.starts(with: Array("nclx".utf8)) }
            .flatMap { colour in
                let numbers = colour.content.dropFirst(4)
                return numbers.count >= 4 ? CodedColour(numbers.enumerated().filter { $0.0 % 2 == 1 }.map(\.1)) : nil
            }
    }

    /// Reads the metadata, except the colour profile.
    ///
    /// - Throws: ``ContainerFailure`` if a JPEG would hold less.
    func metadata() throws(ContainerFailure) -> PictureMetadata {
        guard !holdsMore, !items.holdsMore, let primary = items.primary, let picture = items.items[primary] else {
            throw .holdsMore
        }
        let tiles = Set(items.references.filter { $0.kind == "dimg" && $0.from == primary }.flatMap(\.to))
        let isCoded = Self.codedItems.contains(picture.type) && tiles.isEmpty
        guard isCoded || picture.type == "grid" && !tiles.isEmpty else { throw .holdsMore }
        var metadata = PictureMetadata()
        for (id, item) in items.items {
            if id == primary || tiles.contains(id) && Self.codedItems.contains(item.type) {
                for property in items.properties(of: id) {
                    guard Self.plainProperties.contains(property.type) else { throw .holdsMore }
                    if property.turns { metadata.isTurned = true }
                }
            } else if items.describes(id, primary), item.type == "Exif", metadata.exif == nil {
                metadata.exif = try exif(try content(of: id))
            } else if items.describes(id, primary), item.isXMP, metadata.xmp == nil {
                metadata.xmp = XMPPacket(try content(of: id))
            } else if !(items.isThumbnail(id, of: primary) && Self.codedItems.union(["jpeg"]).contains(item.type)) {
                throw .holdsMore
            }
        }
        let referenced = items.references.allSatisfy { ["dimg", "thmb", "cdsc"].contains($0.kind) }
        guard referenced, colour?.highDynamicRange == nil else { throw .holdsMore }
        // A film could be in data that no item refers to.
        let used = items.places.values.joined().reduce(0 as UInt64) { $0 &+ $1.length }
        guard dataLength <= used &+ Self.longestGap else { throw .holdsMore }
        return metadata
    }

    /// EXIF data begins with the number of bytes before its TIFF structure (ISO/IEC 23008-12, annex A.2.1).
    private func exif(_ bytes: [UInt8]) throws(ContainerFailure) -> ExifBlock {
        let content = Bytes(bytes)
        guard let block = ExifBlock(Array(try content.rest(from: 4 + content.int(at: 0, count: 4)))) else {
            throw .holdsMore
        }
        return block
    }

    private func content(of item: Int) throws(ContainerFailure) -> [UInt8] {
        var content: [UInt8] = []
        guard let extents = items.places[item] else { throw .holdsMore }
        for extent in extents {
            guard extent.length > 0, extent.length <= UInt64(Self.longestMetadata - content.count) else {
                throw .holdsMore
            }
            let count = Int(extent.length)
            switch extent.method {
            case 0: content += try file.bytes(at: extent.offset, count: count)
            case 1: content += try items.data.part(at: Int(clamping: extent.offset), count: count)
            default: throw .holdsMore
            }
        }
        return content
    }
}

/// The size and the type of a box (ISO/IEC 14496-12, 4.2).
struct BoxHead {
    let type: String
    /// Of the whole box.
    let length: UInt64
    let headLength: Int

    /// Reads the head of a box that ends within the rest of what contains it.
    init(_ bytes: Bytes, rest: UInt64) throws(ContainerFailure) {
        let short = try bytes.number(at: 0, count: 4)
        type = try bytes.text(at: 4, count: 4)
        headLength = short == 1 ? 16 : 8
        length = short == 1 ? try bytes.number(at: 8, count: 8) : short == 0 ? rest : short
        guard length >= headLength, length <= rest else { throw .endsEarly }
    }
}

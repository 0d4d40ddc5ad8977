/// The fixture `heic.heic` with more items: its picture is item 2, a grid of item 1; item 3 is EXIF data.
struct HEICSample {
    private var boxes: [(type: String, content: [UInt8])]
    private let rest: [UInt8]
    private let start: Int

    init() throws {
        let file = try Samples.bytes("heic.heic")
        func number(_ offset: Int) -> Int { file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        start = number(0)
        let end = start + number(start)
        boxes = []
        var offset = start + 12
        while offset < end {
            let length = number(offset)
            let type = String(decoding: file[offset + 4..<offset + 8], as: UTF8.self)
            boxes.append((type, Array(file[offset + 8..<offset + length])))
            offset += length
        }
        rest = Array(file[end...])
        head = Array(file[..<start])
    }

    private let head: [UInt8]

    private mutating func change(_ type: String, _ change: (inout [UInt8]) -> Void) {
        for index in boxes.indices where boxes[index].type == type { change(&boxes[index].content) }
    }

    /// Adds an item that refers to another one.
    ///
    /// - Parameters:
    ///   - more: Follows the type: name, type of content and encoding, each with a zero.
    ///   - content: The item's bytes.
    mutating func add(
        item: UInt8, _ type: String, more: [UInt8] = [0], content: [UInt8] = [0], _ reference: String, to: UInt8
    ) {
        change("iinf") { box in
            box[5] += 1
            box += Samples.box("infe", [2, 0, 0, 0, 0, item, 0, 0] + Array(type.utf8) + more)
        }
        // Decoded like item 1, and as large.
        changeProperties { _, associations in
            associations[7] += 1
            associations += [0, item, 2, 0x81, 2]
        }
        change("iref") { $0 += Samples.box(reference, [0, item, 0, 1, 0, to]) }
        var place = 0
        change("idat") { box in
            place = box.count
            box += content
        }
        change("iloc") { box in
            box[7] += 1
            box += [0, item, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
            box += Samples.bigEndian(UInt32(place)) + Samples.bigEndian(UInt32(content.count))
        }
    }

    /// Adds a property of the picture.
    mutating func add(property type: String, _ content: [UInt8]) {
        changeProperties { properties, associations in
            properties += Samples.box(type, content)
            // After the head and item 1 comes the picture: two properties, and now the fifth.
            associations[15] = 3
            associations.append(5)
        }
    }

    private mutating func changeProperties(
        _ change: (_ properties: inout [UInt8], _ associations: inout [UInt8]) -> Void
    ) {
        self.change("iprp") { box in
            let length = box[..<4].reduce(0) { $0 << 8 | Int($1) }
            var (properties, associations) = (Array(box[8..<length]), Array(box[(length + 8)...]))
            change(&properties, &associations)
            box = Samples.box("ipco", properties) + Samples.box("ipma", associations)
        }
    }

    /// The file. What lies in the data after the boxes moves by the length of the additions.
    func file(behind: [UInt8] = []) -> [UInt8] {
        let before = 485 - 12
        let length = boxes.reduce(0) { $0 + $1.content.count + 8 }
        let content = boxes.flatMap { box in
            var content = box.content
            if box.type == "iloc" {
                // Entries of 20 bytes: id, method, file, base, number of extents, offset, length.
                for entry in stride(from: 8, to: content.count, by: 20) where content[entry + 3] == 0 {
                    let base = content[entry + 6..<entry + 10].reduce(0) { $0 << 8 | UInt32($1) }
                    content.replaceSubrange(
                        entry + 6..<entry + 10, with: Samples.bigEndian(base + UInt32(length - before)))
                }
            }
            return Samples.box(box.type, content)
        }
        return head + Samples.box("meta", [0, 0, 0, 0] + content) + rest + behind
    }
}

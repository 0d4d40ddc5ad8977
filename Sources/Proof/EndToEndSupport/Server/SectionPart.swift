import Foundation

/// A part of an `upload.do` request: an element of the `file_block` header, and the bytes of its part of the body.
struct SectionPart {
    struct Block: Decodable {
        var id: String
        var totalSize: Int
        var blockTotal: Int
        var blockNo: Int
    }

    let block: Block
    let filename: String
    let type: String
    let content: Data

    /// Parses a request.
    ///
    /// - Throws: ``Surprise`` with the violation of contract 4.
    static func parts(fileBlock: String?, contentType: String?, body: Data) throws -> [SectionPart] {
        guard let fileBlock else { throw Surprise("upload.do without a file_block header") }
        guard let blocks = blocks(fileBlock), !blocks.isEmpty else {
            throw Surprise("file_block is not an array of blocks: \(fileBlock)")
        }
        guard let contentType, contentType.lowercased().hasPrefix("multipart/form-data"),
            let boundary = parameter("boundary", of: contentType)
        else { throw Surprise("upload.do with content type \(contentType ?? "none")") }
        let opening = Data("--\(boundary)\r\n".utf8)
        let delimiter = Data("\r\n--\(boundary)".utf8)
        var rest = body[...]
        let parts = try blocks.map { block in
            guard rest.starts(with: opening), let headEnd = rest.range(of: Data("\r\n\r\n".utf8)) else {
                throw Surprise("a multipart body with fewer parts than blocks, or without its boundary")
            }
            let head = String(decoding: rest[(rest.startIndex + opening.count)..<headEnd.lowerBound], as: UTF8.self)
            let content = rest[headEnd.upperBound...].prefix(try length(of: block))
            rest = rest[content.endIndex...]
            guard rest.starts(with: delimiter) else { throw Surprise("not \(content.count) bytes for \(block)") }
            rest = rest.dropFirst(2)
            return try SectionPart(block, head: head, content: content)
        }
        guard rest.starts(with: Data("--\(boundary)--".utf8)) else {
            throw Surprise("a multipart body with more parts than blocks, or without its end")
        }
        return parts
    }

    private init(_ block: Block, head: String, content: Data) throws {
        self.block = block
        self.content = content
        var fields: [String: String] = [:]
        for line in head.components(separatedBy: "\r\n") {
            let pair = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if pair.count == 2 { fields[pair[0].lowercased()] = pair[1] }
        }
        let disposition = fields["content-disposition"] ?? ""
        guard Self.parameter("name", of: disposition) == "sectionFile" else {
            throw Surprise("the part is not named sectionFile: \(head)")
        }
        filename = Self.parameter("filename", of: disposition) ?? ""
        type = fields["content-type"] ?? ""
        try check()
    }

    /// Returns the blocks in a `file_block` header, or nil if the header is malformed.
    static func blocks(_ header: String) -> [Block]? {
        try? JSONDecoder().decode([Block].self, from: Data(header.utf8))
    }

    private func check() throws {
        let name = filename.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789")
        let pieces = filename.split(separator: ".")
        guard let ext = pieces.last.map(String.init), name.count == 2, (1...8).contains(ext.count),
            ext.allSatisfy(allowed.contains), filename == "\(block.id)-\(block.blockNo - 1).\(ext)"
        else { throw Surprise("filename \(filename) for block \(block)") }
        guard type == "image/\(ext)" || type == "video/\(ext)" || type == "application/octet-stream" else {
            throw Surprise("part type \(type) for \(filename)")
        }
    }

    /// Returns the number of bytes in a block.
    private static func length(of block: Block) throws -> Int {
        let total = (block.totalSize + size - 1) / size
        guard block.blockTotal == total, (1...max(total, 1)).contains(block.blockNo) else {
            throw Surprise("block numbers of \(block)")
        }
        return min(size, block.totalSize - (block.blockNo - 1) * size)
    }

    /// Contract 4: fragment n covers bytes [n × 524288, …).
    static let size = 524_288

    private static func parameter(_ name: String, of header: String) -> String? {
        for piece in header.components(separatedBy: ";").dropFirst() {
            let pair = piece.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2, pair[0].lowercased() == name { return pair[1].trimmingCharacters(in: ["\""]) }
        }
        return nil
    }
}

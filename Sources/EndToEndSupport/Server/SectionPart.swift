import Foundation

/// A parsed `upload.do` request: the `file_block` header and the single part of the multipart body.
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

    /// - Throws: ``Surprise`` with the violation of contract 4.
    init(fileBlock: String?, contentType: String?, body: Data) throws {
        guard let fileBlock else { throw Surprise("upload.do without a file_block header") }
        guard let block = Self.block(fileBlock) else {
            throw Surprise("file_block is not an array of one block: \(fileBlock)")
        }
        self.block = block

        guard let contentType, contentType.lowercased().hasPrefix("multipart/form-data"),
            let boundary = Self.parameter("boundary", of: contentType)
        else { throw Surprise("upload.do with content type \(contentType ?? "none")") }
        let opening = Data("--\(boundary)\r\n".utf8)
        let closing = Data("\r\n--\(boundary)--".utf8)
        guard body.starts(with: opening), let headEnd = body.range(of: Data("\r\n\r\n".utf8)),
            let end = body.range(of: closing, options: .backwards), end.lowerBound >= headEnd.upperBound
        else { throw Surprise("a multipart body that does not start and end with its boundary") }
        guard body.range(of: Data("\r\n--\(boundary)\r\n".utf8)) == nil else {
            throw Surprise("a multipart body of more than one part")
        }
        content = body[headEnd.upperBound..<end.lowerBound]

        let head = String(decoding: body[opening.endIndex..<headEnd.lowerBound], as: UTF8.self)
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

    /// Returns the single block in a `file_block` header, or nil if the header is malformed.
    static func block(_ header: String) -> Block? {
        guard let blocks = try? JSONDecoder().decode([Block].self, from: Data(header.utf8)), blocks.count == 1 else {
            return nil
        }
        return blocks[0]
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
        let total = (block.totalSize + Self.size - 1) / Self.size
        guard block.blockTotal == total, (1...max(total, 1)).contains(block.blockNo) else {
            throw Surprise("block numbers of \(block)")
        }
        let expected = min(Self.size, block.totalSize - (block.blockNo - 1) * Self.size)
        guard content.count == expected else {
            throw Surprise("\(content.count) bytes instead of \(expected) in \(block)")
        }
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

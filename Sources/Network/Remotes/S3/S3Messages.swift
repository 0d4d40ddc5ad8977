/// The XML of S3's multipart uploads. The names of root elements differ from store to store, so their content decides.
enum S3Messages {
    /// A page of `ListPartsResult`.
    struct PartList: Equatable {
        struct Part: Equatable {
            /// From 1.
            var number: Int
            var size: UInt64?
            var receipt: PartReceipt
        }

        var parts: [Part] = []
        /// The number after which the next page begins; nil on the last page.
        var next: Int?

        /// Reads a page.
        ///
        /// - Returns: nil for another document.
        init?(_ root: XMLElement) {
            guard root["UploadId"] != nil || root["IsTruncated"] != nil else { return nil }
            for child in root.children where child.name == "Part" {
                guard let number = child["PartNumber"].flatMap({ Int($0) }) else { return nil }
                let receipt = PartReceipt(tag: ETag(child["ETag"] ?? ""), sha256: child["ChecksumSHA256"])
                parts.append(Part(number: number, size: child["Size"].flatMap { UInt64($0) }, receipt: receipt))
            }
            guard root["IsTruncated"]?.lowercased() == "true" else { return }
            next = root["NextPartNumberMarker"].flatMap { Int($0) } ?? parts.last?.number
        }
    }

    /// Returns the id in an `InitiateMultipartUploadResult`, which rclone calls `InitiateMultipartUpload`; nil for another
    /// document or an empty id.
    static func uploadID(in root: XMLElement) -> String? {
        root["UploadId"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the `CompleteMultipartUpload` that joins parts, given in order.
    static func completion(_ parts: [PartReceipt]) -> [UInt8] {
        var text = #"<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#
        for (index, part) in parts.enumerated() {
            text += "<Part>"
            if let checksum = part.sha256 { text += "<ChecksumSHA256>\(XMLElement.escaped(checksum))</ChecksumSHA256>" }
            text += "<ETag>&quot;\(XMLElement.escaped(part.tag.text))&quot;</ETag>"
            text += "<PartNumber>\(index + 1)</PartNumber></Part>"
        }
        return Array((text + "</CompleteMultipartUpload>").utf8)
    }
}

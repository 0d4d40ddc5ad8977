import FoundationEssentials
import UploadCore

/// The header field `Upload-Metadata`: pairs of a key and a value in base64.
///
/// Names of files are bytes, so `filename` and `path` are the bytes as they are in the outbox, also if they are not UTF-8.
enum TusMetadata {
    static func text(for upload: UploadDescription) -> String {
        var pairs: [(key: String, value: [UInt8])] = [
            ("filename", Array(upload.path.name)),
            ("filetype", Array(upload.type.mime.utf8)),
            ("md5", Array(upload.key.description.utf8)),
        ]
        if let modified = upload.modified { pairs.append(("mtime", Array("\(modified)".utf8))) }
        pairs.append(("path", upload.path.bytes))
        return pairs.map { "\($0.key) \(Data($0.value).base64EncodedString())" }.joined(separator: ",")
    }
}

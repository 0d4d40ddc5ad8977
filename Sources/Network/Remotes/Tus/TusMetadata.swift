import FoundationEssentials
import UploadCore

/// The header field `Upload-Metadata`: pairs of a key and a value in base64.
///
/// Servers expect UTF-8: some refuse an upload with other bytes, some drop the pair. So `filename` and `path` of a name that
/// is not UTF-8 are written as in sidecars, with the odd bytes percent-encoded. `path_bytes` then has the bytes in base64.
enum TusMetadata {
    /// How many bytes of the field every server takes. Some refuse an upload with more.
    private static let longest = 4096

    /// Leaves out the path if the field would be too long.
    ///
    /// - Parameter name: for `filename`.
    static func text(for upload: UploadDescription, name: String) -> String {
        var pairs: [(key: String, value: [UInt8])] = [
            ("filename", Array(name.utf8)),
            ("filetype", Array(upload.type.mime.utf8)),
            ("md5", Array(upload.key.description.utf8)),
        ]
        if let modified = upload.modified { pairs.append(("mtime", Array(ModificationTime.text(modified).utf8))) }
        let path = upload.path.description
        pairs.append(("path", Array(path.utf8)))
        if !path.utf8.elementsEqual(upload.path.bytes) {
            pairs.append(("path_bytes", Array(Data(upload.path.bytes).base64EncodedString().utf8)))
        }
        let text = text(of: pairs)
        return text.utf8.count <= longest ? text : Self.text(of: pairs.filter { !$0.key.hasPrefix("path") })
    }

    private static func text(of pairs: [(key: String, value: [UInt8])]) -> String {
        pairs.map { "\($0.key) \(Data($0.value).base64EncodedString())" }.joined(separator: ",")
    }
}

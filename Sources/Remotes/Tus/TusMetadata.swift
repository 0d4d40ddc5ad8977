import FoundationEssentials
import UploadCore

/// The header field `Upload-Metadata`: pairs of a key and a value in base64.
///
/// Servers expect UTF-8: some refuse an upload with other bytes, some drop the pair. So `filename` and `path` of a name that
/// is not UTF-8 are written as in sidecars, with the odd bytes percent-encoded. `path_bytes` then has the bytes in base64.
enum TusMetadata {
    /// - Parameter name: for `filename`.
    static func text(for upload: UploadDescription, name: String) -> String {
        var pairs: [(key: String, value: [UInt8])] = [
            ("filename", Array(name.utf8)),
            ("filetype", Array(upload.type.mime.utf8)),
            ("md5", Array(upload.key.description.utf8)),
        ]
        if let modified = upload.modified { pairs.append(("mtime", Array(seconds(modified).utf8))) }
        let path = upload.path.description
        pairs.append(("path", Array(path.utf8)))
        if !path.utf8.elementsEqual(upload.path.bytes) {
            pairs.append(("path_bytes", Array(Data(upload.path.bytes).base64EncodedString().utf8)))
        }
        return pairs.map { "\($0.key) \(Data($0.value).base64EncodedString())" }.joined(separator: ",")
    }

    /// Returns a time in seconds since 1970. reva (oCIS, OpenCloud) reads the digits after the dot as a number of
    /// nanoseconds, so there are always nine.
    private static func seconds(_ milliseconds: Int64) -> String {
        var (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        if rest < 0 { (seconds, rest) = (seconds - 1, rest + 1000) }
        return "\(seconds).\("\(1000 + rest)".dropFirst())000000"
    }
}

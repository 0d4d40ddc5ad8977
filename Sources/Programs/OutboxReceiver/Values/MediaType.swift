/// A media type from a client, reduced to text that is safe in a header field.
struct MediaType: Equatable {
    let text: String

    /// Accepts `type/subtype` (RFC 6838, 4.2). Everything else becomes `application/octet-stream`.
    init(_ text: String?) {
        guard let text = text?.lowercased(), text.utf8.count <= 100, Self.isValid(text) else {
            self.text = "application/octet-stream"
            return
        }
        self.text = text
    }

    /// Whether a browser may show the file inline. An SVG picture can run scripts, so SVG is excluded.
    var isShownInPlace: Bool {
        (text.hasPrefix("image/") && !text.hasPrefix("image/svg")) || text.hasPrefix("video/")
    }

    /// How a page shows a file.
    enum Showing {
        /// All current browsers show the picture.
        case picture
        /// Some browsers show the picture.
        case pictureForSome
        case video
        /// The page only links to the file.
        case link
    }

    /// How a page shows a file of this type.
    var showing: Showing {
        switch text {
        case "image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/bmp": .picture
        case "image/heic", "image/heif", "image/jxl", "image/tiff": .pictureForSome
        default: text.hasPrefix("video/") ? .video : .link
        }
    }

    private static func isValid(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.utf8.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                        default: "!#$&^_.+-".utf8.contains(byte)
                        }
                    }
            }
    }
}

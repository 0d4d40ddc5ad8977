/// A media type as a client declared it, reduced to what can be put in a header field.
struct MediaType: Equatable {
    let text: String

    /// Takes `type/subtype` (RFC 6838, 4.2), anything else as bytes.
    init(_ text: String?) {
        guard let text = text?.lowercased(), text.utf8.count <= 100, Self.isValid(text) else {
            self.text = "application/octet-stream"
            return
        }
        self.text = text
    }

    /// Whether a browser may show it in place. SVG is a picture that can run scripts.
    var isShownInPlace: Bool {
        (text.hasPrefix("image/") && !text.hasPrefix("image/svg")) || text.hasPrefix("video/")
    }

    /// How a page shows a file.
    enum Showing {
        /// All browsers of these years show it.
        case picture
        /// Some do.
        case pictureForSome
        case video
        /// It is there to be fetched.
        case link
    }

    /// How a page shows it.
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

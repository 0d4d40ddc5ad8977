/// What must hold before a request is handed to libcurl, which writes method, URL and fields as they are given.
enum RequestCheck {
    /// - Throws: ``TransportError/badRequest(_:)`` or ``TransportError/badURL(_:)``, never quoting a value.
    static func validate(_ request: HTTPRequest) throws(TransportError) {
        guard isToken(request.method) else { throw .badRequest("the method is not an HTTP token") }
        try validate(url: request.url)
        for (name, value) in request.headers {
            guard isToken(name) else { throw .badRequest("a header field's name is not an HTTP token") }
            guard value.utf8.allSatisfy(isAllowedInValue) else {
                throw .badRequest("the value of the header field \(name) holds a control character")
            }
            guard !framing.contains(where: name.equalsIgnoringASCIICase) else {
                throw .badRequest("the header field \(name) is the transport's own")
            }
        }
        guard case .multipart(let parts) = request.body else { return }
        guard !request.headers.contains(where: { $0.name.equalsIgnoringASCIICase("Content-Type") }) else {
            throw .badRequest("the header field Content-Type of a multipart body is the transport's own")
        }
        for part in parts {
            let texts = [part.name, part.fileName ?? "", part.contentType ?? ""]
            guard !texts.contains(where: { $0.utf8.contains(0) }),
                part.contentType?.utf8.allSatisfy(isAllowedInValue) ?? true
            else {
                throw .badRequest("name, file name or type of a part holds a control character")
            }
        }
    }

    private static func validate(url: String) throws(TransportError) {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard scheme == "http" || scheme == "https", url.dropFirst(scheme.count).hasPrefix("://") else {
            throw .badURL("not an absolute http or https URL")
        }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw .badURL("the URL holds white space or a control character")
        }
    }

    /// Fields that say where the request ends, or when its body is sent.
    private static let framing = ["Content-Length", "Transfer-Encoding", "Expect"]

    /// RFC 9110, section 5.6.2.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// RFC 9110, section 5.5: no control character but the tab; bytes over 0x7F pass as they are.
    private static func isAllowedInValue(_ byte: UInt8) -> Bool {
        byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
    }
}

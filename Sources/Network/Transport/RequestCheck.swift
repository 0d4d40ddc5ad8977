import HTTPTypes
import URLs

/// Validates a request before libcurl gets it, because libcurl writes method, URL and fields unchanged.
enum RequestCheck {
    /// - Throws: ``TransportError/badRequest(_:)`` or ``TransportError/badURL(_:)``; the message never quotes a
    ///   value.
    /// - Returns: the request's URL.
    static func validate(_ request: TransportRequest) throws(TransportError) -> WebURL {
        let url = try validate(url: request.url)
        for name in framing where request.headers.contains(name) {
            throw .badRequest("the transport sets the header field \(name) itself")
        }
        for name in secrets where request.headers.contains(name) {
            guard let allowed = request.credentialsOrigin, WebOrigin(url) == allowed else {
                throw .badRequest("\(name) may go to the configured server only, and the URL names another one")
            }
        }
        guard case .multipart(let parts) = request.body else { return url }
        guard !request.headers.contains(.contentType) else {
            throw .badRequest("the transport sets the header field Content-Type of a multipart body itself")
        }
        for part in parts {
            let texts = [part.name, part.fileName ?? "", part.contentType ?? ""]
            guard !texts.contains(where: { $0.utf8.contains(0) }),
                part.contentType.map({ HTTPField.isValidValue($0) }) ?? true
            else {
                throw .badRequest("name, file name or type of a part holds a control character")
            }
        }
        return url
    }

    private static func validate(url text: String) throws(TransportError) -> WebURL {
        guard let url = WebURL(text) else { throw .badURL("not an absolute http or https URL") }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw .badURL("the URL holds white space or a control character")
        }
        return url
    }

    /// Fields that hold credentials.
    private static let secrets: [HTTPField.Name] =
        [.authorization, .cookie] + [HTTPField.Name("X-Amz-Security-Token")].compactMap(\.self)

    /// Fields about the request's end or the time of sending its body.
    private static let framing: [HTTPField.Name] = [.contentLength, .transferEncoding, .expect]
}

import HTTPTypes
public import Transport

/// The examination of a server of the fileSection protocol.
public struct FileSectionProbe: RemoteProbe {
    /// The id of an upload that no server knows.
    private static let id = "outbox-doctor"

    private let base: String

    /// Creates a probe.
    ///
    /// - Parameter url: the server's base address without a trailing slash.
    public init(url: String) { base = url }

    /// Asks for the status of an empty list of files. This is the protocol's only question that names no file, so no
    /// server has anything to change.
    public var question: TransportRequest {
        request("isFinish.do", type: "application/json", body: #"{"fileIds":[]}"#)
    }

    /// A fragment of an unknown upload, with or without the field `file_block`.
    public func strayFragment(withHeader: Bool) throws(TransportError) -> TransportRequest? {
        let body = """
            --\(Self.id)\r
            Content-Disposition: form-data; name="sectionFile"; filename="\(Self.id)-0.bin"\r
            Content-Type: application/octet-stream\r
            \r
            x\r
            --\(Self.id)--\r

            """
        var request = request("upload.do", type: "multipart/form-data; boundary=\(Self.id)", body: body)
        let block = #"[{"id":"\#(Self.id)","totalSize":1,"blockTotal":1,"blockNo":1}]"#
        if withHeader { try request.headers.add("file_block", block) }
        return request
    }

    private func request(_ endpoint: String, type: String, body: String) -> TransportRequest {
        TransportRequest(
            method: .post, url: base + "/fileSection/" + endpoint, headers: [.contentType: type],
            body: .bytes(Array(body.utf8)))
    }
}

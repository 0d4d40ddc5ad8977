import HTTPTypes
public import Transport
import UploadCore

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
        TransportRequest(
            method: .post, url: base + "/fileSection/isFinish.do", headers: [.contentType: "application/json"],
            body: .bytes(Array(#"{"fileIds":[]}"#.utf8)))
    }

    /// A fragment of an unknown upload, of the usual size, with or without the field `file_block`.
    public func strayFragment(withHeader: Bool) throws(TransportError) -> TransportRequest? {
        let size = Int(FragmentPlan.sectionSize)
        let part = MultipartPart(
            name: "sectionFile", fileName: "\(Self.id)-0.bin", contentType: "application/octet-stream",
            source: BytesBody([UInt8](repeating: 0, count: size)))
        var request = TransportRequest(
            method: .post, url: base + "/fileSection/upload.do", body: .multipart([part]))
        let block = #"[{"id":"\#(Self.id)","totalSize":\#(size),"blockTotal":1,"blockNo":1}]"#
        if withHeader { try request.headers.add("file_block", block) }
        return request
    }

}

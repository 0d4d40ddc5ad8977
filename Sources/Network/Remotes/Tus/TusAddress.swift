import UploadCore

/// The URL that creates uploads, as configured.
///
/// Most servers create all uploads at one URL. For others it is the place of the new file (SeaweedFS): there `{key}` stands
/// for the MD5 of the content, and `{ext}` for the extension of its type with the dot.
struct TusAddress: Equatable, Sendable {
    private let template: String

    init(_ template: String) { self.template = template }

    /// The URL for requests about no upload.
    var url: String { filled(key: "", fileExtension: "") }

    /// Returns the URL that creates an upload.
    func creationURL(for upload: UploadDescription) -> String {
        let values = NameTemplate.Values(
            prefix: "", account: "", key: upload.key, type: upload.type, path: upload.path, modified: nil)
        return filled(key: upload.key.description, fileExtension: NameTemplate.fileExtension(values))
    }

    private func filled(key: String, fileExtension: String) -> String {
        template.replacing("{key}", with: key).replacing("{ext}", with: fileExtension)
    }
}

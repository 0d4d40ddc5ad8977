import HTTPTypes
import UploadCore

/// What a tus server says about itself in the reply to OPTIONS.
struct TusOffer: Equatable, Sendable {
    /// A server that says nothing.
    static let unknown = TusOffer()
    /// A server that may say more another time.
    static let unanswered = {
        var offer = TusOffer()
        offer.isLasting = false
        return offer
    }()

    /// Whether the server need not be asked again.
    private(set) var isLasting = true
    /// The versions of the protocol (`Tus-Version`), preferred first.
    private(set) var versions: [String] = []
    /// The extensions (`Tus-Extension`); nil if the server does not say.
    private(set) var extensions: Set<String>?
    /// The largest upload in bytes (`Tus-Max-Size`); nil for no limit.
    private(set) var maximumSize: UInt64?
    /// The algorithms of the extension `checksum` (`Tus-Checksum-Algorithm`).
    private(set) var checksums: Set<String> = []

    private init() {}

    /// Reads the header of a reply; nil if no field is about tus.
    init?(_ headers: HTTPFields) {
        func list(_ name: String) -> [String]? {
            headers.value(of: name).map {
                $0.lowercased().filter { $0 != " " && $0 != "\t" }.split(separator: ",").map(String.init)
            }
        }
        guard headers.contains(where: { $0.name.canonicalName.hasPrefix("tus-") }) else { return nil }
        versions = list("Tus-Version") ?? []
        extensions = list("Tus-Extension").map(Set.init)
        // Some servers write 0 for "no limit".
        maximumSize = headers.value(of: "Tus-Max-Size").flatMap { UInt64($0) }.flatMap { $0 == 0 ? nil : $0 }
        if extensions?.contains("checksum") == true { checksums = Set(list("Tus-Checksum-Algorithm") ?? []) }
    }

    /// Whether the server may speak version 1.0.0. Not every server lists its versions.
    var speaksOurVersion: Bool { versions.isEmpty || versions.contains(TusRemote.version) }

    /// Whether a request that creates an upload may carry bytes of the file.
    var createsWithUpload: Bool { extensions?.contains("creation-with-upload") ?? false }

    /// Whether the server may delete unfinished uploads.
    var terminates: Bool { extensions?.contains("termination") ?? true }
}

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

import Remotes
import UploadCore

/// What a request must know about an upload and its paths.
struct UploadFacts {
    let machine: UploadMachine
    /// The paths that are not in a final state.
    let active: PathMap<DropRecord>

    /// Returns how the content is cut into fragments; `nil` without an upload.
    func plan(of key: ContentKey) -> FragmentPlan? { machine.record(of: key)?.plan }

    /// Returns size and digest of the content; `nil` without an upload.
    func seal(of key: ContentKey) -> ContentSeal? { machine.record(of: key)?.seal }

    /// Returns the description of a content for its registration. The facts come from the content's first path.
    func description(of key: ContentKey) -> UploadDescription? {
        guard let upload = machine.record(of: key) else { return nil }
        guard let path = machine.waiters(of: key).min(), let record = active[path] else { return nil }
        var description = UploadDescription(
            key: key, plan: upload.plan, path: record.uploadPath, type: record.uploadType ?? .other,
            modified: record.identity.map { $0.modified / 1_000_000 })
        description.facts = record.product?.made?.facts ?? record.facts ?? MediaFacts()
        description.sha256 = upload.sha256
        description.isDoubted = upload.assemblyFailures > 0
        return description
    }

    /// Returns an upload with its handle; `nil` before its registration.
    func remoteUpload(of key: ContentKey) -> RemoteUpload? {
        guard let upload = machine.record(of: key), let handle = upload.handle else { return nil }
        let path = machine.waiters(of: key).first { active[$0]?.type != nil }
        let type = path.flatMap { active[$0]?.uploadType } ?? .other
        var remote = RemoteUpload(
            key: key, handle: handle, plan: upload.plan, type: type, receipts: machine.receipts(of: key))
        // Without an id, the upload's last request is its first.
        if handle.id.isEmpty { remote.details = description(of: key) }
        return remote
    }

    /// Whether fragments of the upload are being sent.
    func isSending(_ key: ContentKey) -> Bool {
        machine.waiters(of: key).contains { machine.view(of: key, from: $0)?.state == .uploading }
    }
}

extension DropRecord {
    /// The type of what is uploaded.
    fileprivate var uploadType: MediaType? { product?.made?.type ?? type }

    /// The path that the server learns. A product of another type has the name extension of its own type.
    fileprivate var uploadPath: RelativePath {
        guard let made = product?.made, made.type != type else { return path }
        let name = path.name
        let stem =
            name.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > name.startIndex ? name[..<$0] : nil } ?? name[...]
        return path.parent.appending(Array(stem) + Array(".\(MediaSignatures.fileExtension(for: made.type))".utf8))
    }
}

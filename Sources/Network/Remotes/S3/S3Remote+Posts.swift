import FoundationEssentials
import HTTPTypes
public import Transport
public import UploadCore

extension S3Remote: SourceRemote {
    /// The manifest of a post.
    private struct Manifest: Encodable {
        var sourceId: String
        var revision: Int
        var title: String
        /// The key of the cover's object.
        var cover: String?
        /// The keys of the files' objects.
        var files: [String]
        /// As in `2026-11-21T09:30:00Z`.
        var created: String
    }

    /// Writes the manifest `{prefix}posts/<sourceId>/<revision>.json` unless it exists.
    public func commit(_ commit: SourceCommit) async throws(RemoteFailure) -> CommitOutcome {
        let created = CivilTime(commit.createdAt)
        let manifest = Manifest(
            sourceId: commit.sourceID, revision: commit.revision, title: commit.title, cover: commit.cover,
            files: commit.fileIDs, created: "\(created.date)T\(created.clock)Z")
        let encoder = JSONEncoder()
        // Sorted keys make repeated requests byte-identical.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let body = try? Array(encoder.encode(manifest)) else {
            let message = "PutObject: the post can't be written as JSON"
            throw .permanent(FileError(code: "bad_request", message: message, retryable: false))
        }
        let key = "\(options.prefix)posts/\(commit.sourceID)/\(commit.revision).json"
        guard let md5 = BodyDigests(of: body, .md5).md5 else { throw .cancelled }
        do throws(RemoteFailure) {
            return .done(url: try await store(BytesBody(body), at: key, type: "application/json", md5: md5))
        } catch {
            // Another manifest has this number; S3 does not say which one is the latest.
            if case .permanent(let error) = error, error.code == Self.nameTaken {
                return .taken(latest: commit.revision)
            }
            throw error
        }
    }
}

extension S3Remote: PortraitRemote {
    /// Writes the picture `{prefix}portraits/<md5>.jpg` unless it exists.
    public func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String {
        let digests: BodyDigests
        do {
            digests = try await digester.digests(of: picture, .md5)
        } catch {
            throw RemoteFailure(error, endpoint: "PutObject")
        }
        guard let md5 = digests.md5 else { throw .cancelled }
        return try await store(picture, at: "\(options.prefix)portraits/\(md5).jpg", type: "image/jpeg", md5: md5)
    }
}

extension S3Remote {
    private static let nameTaken = "name_taken"

    /// Stores an object whose key says what it contains.
    ///
    /// - Returns: the object's URL.
    /// - Throws: `.permanent` if the object has another content.
    private func store(
        _ body: any BodySource, at key: String, type: String, md5: ContentKey
    ) async throws(RemoteFailure) -> String {
        var call = S3Client.Call(operation: "PutObject", method: .put, key: key, headers: storageHeaders)
        call.headers[.contentType] = type
        call.headers[S3Header.metaMD5] = md5.description
        try await attach(body, to: &call, known: BodyDigests(md5: md5))
        if let answer = try await client.exchangeUnlessExists(call, looksFirst: true) {
            _ = try Self.tag(in: answer)
        } else if !(try await stored(key)).isContent(md5, size: body.length, sha256: nil) {
            let message =
                "PutObject: the object \(key) exists with another content; move or delete the object, then run "
                + "`outbox retry`"
            throw .permanent(FileError(code: Self.nameTaken, message: message, retryable: false))
        }
        return client.address.url(of: key)
    }
}

import Digests
import UploadCore

/// JSON bodies of the fileSection protocol.
enum Messages {
    struct PreLoad: Encodable {
        struct File: Encodable {
            var fileName: String
            var totalSize: UInt64
            var md5: String
            var mimeType: String
            var path: String
            var modified: Int64?
            var width: Int?
            var height: Int?
            var duration: Double?
            var sha256: String?

            init(_ upload: UploadDescription) {
                fileName = upload.path.shownName
                totalSize = upload.plan.size
                md5 = upload.key.description
                mimeType = upload.type.mime
                path = upload.path.description
                modified = upload.modified
                width = upload.facts.width
                height = upload.facts.height
                duration = upload.facts.duration
                sha256 = upload.sha256?.description
            }
        }

        var fileCount: Int
        var files: [File]
    }

    struct PreLoadReply: Decodable {
        var fileIds: [FileID]
        var existing: [FileID]?
        /// How many fragments the server takes in one upload request; nil for one.
        var blocksPerRequest: Int?
        /// How many bytes of several fragments the server takes in one upload request; nil for 512 KiB.
        var bytesPerRequest: Int?
    }

    struct FileIDs: Encodable {
        var fileIds: [String]
    }

    struct IsFinishReply: Decodable {
        var finishStatus: Int
        var failFileIds: String?
        var unknownFileIds: String?
        var urls: [String: String?]?
        var md5: [String: String?]?
    }

    struct Commit: Encodable {
        var sourceId: String
        var revision: Int
        var title: String
        var cover: String?
        var fileIds: [String]
        var createDate: String
        /// The digest of the list, for servers that do not keep the ids of a commit.
        var listDigest: String

        init(_ commit: SourceCommit) {
            let created = CivilTime(commit.createdAt)
            sourceId = commit.sourceID
            revision = commit.revision
            title = commit.title
            cover = commit.cover
            fileIds = commit.fileIDs
            createDate = "\(created.date) \(created.clock)"
            listDigest = MD5Hasher.hash(Array(commit.fileIDs.joined(separator: "\n").utf8)).hexadecimal
        }
    }

    struct CommitReply: Decodable {
        /// The revisions that a server may name. Larger ones are not taken seriously.
        static let revisions = 1...1_000_000_000

        var url: String?
        /// With 409: the server's latest revision.
        var revision: Int?
        /// The digest of the list under this revision.
        var listDigest: String?
    }

    struct PortraitReply: Decodable {
        var userImg: String
    }

    /// An id from the server: text, or a number from a careless server.
    struct FileID: Decodable, Equatable {
        var text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int64.self) {
                text = String(number)
            } else {
                text = try container.decode(String.self)
            }
        }

        /// Whether the id matches `[A-Za-z0-9._-]{1,128}`, and so is safe in a header and in a file name.
        var isLegal: Bool {
            (1...128).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                        UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
    }

    /// Returns the header `file_block` of an upload request. Ids are legal, so no character needs escaping.
    static func fileBlock(_ fragments: [OutgoingFragment]) -> String {
        let blocks = fragments.map { fragment in
            let plan = fragment.upload.plan
            return """
                {"id":"\(fragment.upload.handle.id)","totalSize":\(plan.size),"blockTotal":\(plan.count),\
                "blockNo":\(fragment.index + 1)}
                """
        }
        return "[\(blocks.joined(separator: ","))]"
    }
}

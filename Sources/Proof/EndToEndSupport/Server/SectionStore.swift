package import Foundation

/// The state of a fileSection server, as a value: uploads, their fragments, finished objects, and all violations of
/// contract 4.
///
/// Every upload belongs to one user and is unknown to all others. A server that does not distinguish users has only
/// the user "".
package struct SectionStore {
    /// A client's description of a file in preLoad.
    package struct File: Hashable {
        /// The issued id; nil within a preLoad request.
        package var id: String?
        package var name: String
        package var path: String?
        package var md5: String
    }

    package struct Upload {
        var user = ""
        package var fileName: String
        var size: Int
        package var md5: String
        var blocks: [Int: Data] = [:]
        package var received: Set<Int> = []
        package var finished = false
        /// A fault dropped all received blocks, and none has arrived since.
        var hasLostBlocks = false
    }

    /// The answer to a request: the `code`, `message` and `data` of the reply.
    struct Answer {
        var code = 200
        var message = "ok"
        var data: [String: any Sendable] = [:]
    }

    /// If false, the server counts and discards bodies, so that large files cost no memory.
    var keepsContent = true
    /// If true, preLoad names finished content in `existing`.
    var tellsExisting = false
    /// If true, preLoad says that a request may bring several fragments.
    var takesGroups = false

    package private(set) var uploads: [String: Upload] = [:]
    package private(set) var deleted: Set<String> = []
    /// The MD5 of each assembled object; an MD5 that occurs twice is a duplicate.
    package private(set) var finished: [String] = []
    /// The MD5 of each assembled object, by user.
    package private(set) var finishedByUser: [String: [String]] = [:]
    /// How often each complete fragment arrived, by user, content and block number.
    package private(set) var arrivalsByUser: [String: [String: [Int: Int]]] = [:]
    /// The committed posts.
    package private(set) var posts = PostBook()
    /// The descriptions of all files by id, including deleted and forgotten files.
    package private(set) var announced: [String: File] = [:]
    package private(set) var arrivedBytes = 0
    /// The number of complete fragments that arrived, repetitions included.
    package private(set) var arrivedFragments = 0
    /// The number of fragments that the server received and lost, so that the client must send them again.
    package private(set) var lostBlocks = 0
    /// The bodies of portraits, in order.
    package private(set) var portraits: [Data] = []
    package private(set) var mixtures: [String] = []
    package var violations: [String] = []
    private var lastID = 40

    /// How often each complete fragment arrived, by content and block number.
    package var arrivals: [String: [Int: Int]] {
        arrivalsByUser.values.reduce(into: [:]) { all, one in
            all.merge(one) { $0.merging($1, uniquingKeysWith: +) }
        }
    }

    /// The number of fragments that the same user sent again.
    package var repeated: Int {
        arrivalsByUser.values.flatMap(\.values).reduce(0) { $0 + $1.values.reduce(0) { $0 + $1 - 1 } }
    }

    package mutating func forget(_ id: String) {
        lostBlocks += uploads[id]?.received.count ?? 0
        uploads[id] = nil
    }

    private mutating func note(finished md5: String, of user: String) {
        finished.append(md5)
        finishedByUser[user, default: []].append(md5)
    }

    /// Returns the user's upload with this id.
    private func upload(_ id: String, of user: String) -> Upload? { uploads[id].flatMap { $0.user == user ? $0 : nil } }

    // MARK: Requests

    private struct PreLoad: Decodable {
        struct File: Decodable {
            var fileName: String
            var totalSize: Int
            var md5: String
            var mimeType: String
            var path: String?
        }
        var fileCount: Int
        var files: [File]
    }

    private struct Identifiers: Decodable {
        var fileIds: [String]
    }

    mutating func preLoad(_ body: Data, user: String) -> Answer {
        guard let request = try? JSONDecoder().decode(PreLoad.self, from: body) else {
            return refuse("preLoad body: \(String(decoding: body, as: UTF8.self))")
        }
        guard request.fileCount == request.files.count, (1...50).contains(request.fileCount) else {
            return refuse("preLoad of \(request.fileCount) files that are \(request.files.count)")
        }
        var ids: [String] = []
        var existing: [String] = []
        for file in request.files {
            guard file.md5.count == 32, file.md5.allSatisfy({ $0.isHexDigit && !$0.isUppercase }), file.totalSize > 0
            else { return refuse("preLoad of \(file)") }
            if tellsExisting, let known = finishedID(of: file.md5, user: user) {
                ids.append(known)
                existing.append(known)
                continue
            }
            lastID += 1
            let id = String(lastID)
            uploads[id] = Upload(user: user, fileName: file.fileName, size: file.totalSize, md5: file.md5)
            announced[id] = File(id: id, name: file.fileName, path: file.path, md5: file.md5)
            ids.append(id)
        }
        var answer = Answer(data: ["fileIds": ids, "existing": existing])
        if takesGroups {
            answer.data["blocksPerRequest"] = Self.mostTogether.fragments
            answer.data["bytesPerRequest"] = Self.mostTogether.bytes
        }
        return answer
    }

    private func finishedID(of md5: String, user: String) -> String? {
        uploads.first { $1.finished && $1.md5 == md5 && $1.user == user }?.key
    }

    /// Stores a portrait under a URL of its own.
    mutating func portrait(_ body: Data, host: String) -> Answer {
        guard body.range(of: Data("name=\"portrait\"".utf8)) != nil, body.range(of: Data([0xFF, 0xD8, 0xFF])) != nil
        else { return refuse("a portrait without a JPEG in a part named portrait") }
        portraits.append(body)
        return Answer(data: ["userImg": "http://\(host)/u/\(portraits.count).jpg!150x150"])
    }

    /// How much one request may bring.
    private static let mostTogether = (fragments: 16, bytes: 4 * SectionPart.size)

    mutating func upload(fileBlock: String?, contentType: String?, body: Data, user: String) -> Answer {
        let parts: [SectionPart]
        do {
            parts = try SectionPart.parts(fileBlock: fileBlock, contentType: contentType, body: body)
        } catch {
            return refuse("\(error)")
        }
        let most = takesGroups ? Self.mostTogether : (fragments: 1, bytes: SectionPart.size)
        guard parts.count <= most.fragments, parts.reduce(0, { $0 + $1.content.count }) <= most.bytes else {
            return refuse("\(parts.count) fragments in a request")
        }
        for part in parts {
            let answer = take(part, user: user)
            if answer.code != 200 { return answer }
        }
        return Answer()
    }

    private mutating func take(_ part: SectionPart, user: String) -> Answer {
        let id = part.block.id
        guard var upload = upload(id, of: user) else { return Answer(code: 404, message: "no upload \(id)") }
        guard part.block.totalSize == upload.size else { return refuse("totalSize of \(part.block)") }
        let number = part.block.blockNo
        if upload.finished { violations.append("block \(number) of \(id) sent after it was confirmed") }
        noteArrival(of: number, upload, user: user, bytes: part.content.count)
        if let earlier = upload.blocks[number], earlier != part.content {
            mixtures.append("block \(number) of \(id) came with two contents")
        }
        if keepsContent { upload.blocks[number] = Data(part.content) }
        upload.received.insert(number)
        upload.hasLostBlocks = false
        uploads[id] = upload
        return Answer()
    }

    private mutating func noteArrival(of number: Int, _ upload: Upload, user: String, bytes: Int) {
        arrivalsByUser[user, default: [:]][upload.md5, default: [:]][number, default: 0] += 1
        arrivedBytes += bytes
        arrivedFragments += 1
    }

    /// Counts a fragment without checking its bytes, for a server that discards bodies.
    mutating func count(fileBlock: String?, bodyLength: Int, user: String) -> Answer {
        guard let blocks = fileBlock.flatMap(SectionPart.blocks), blocks.count == 1, let block = blocks.first,
            var upload = upload(block.id, of: user)
        else {
            return Answer(code: 404, message: "no upload for \(fileBlock ?? "no file_block")")
        }
        let expected = min(SectionPart.size, upload.size - (block.blockNo - 1) * SectionPart.size)
        guard expected > 0, (expected...expected + 2048).contains(bodyLength) else {
            return refuse("a body of \(bodyLength) bytes for \(block)")
        }
        noteArrival(of: block.blockNo, upload, user: user, bytes: expected)
        upload.received.insert(block.blockNo)
        upload.hasLostBlocks = false
        uploads[block.id] = upload
        return Answer()
    }

    mutating func isFinish(_ body: Data, user: String) -> Answer {
        guard let request = try? JSONDecoder().decode(Identifiers.self, from: body) else {
            return refuse("isFinish body: \(String(decoding: body, as: UTF8.self))")
        }
        // `login` and `doctor` name no file, to check the token; a server may answer with a bad request.
        if request.fileIds.isEmpty { return Answer(code: 400, message: "no files") }
        var failed: [String] = []
        var unknown: [String] = []
        var urls: [String: String] = [:]
        var digests: [String: String] = [:]
        for id in request.fileIds {
            switch assemble(id, of: user) {
            case nil: unknown.append(id)
            case false: failed.append(id)
            case true:
                urls[id] = "http://127.0.0.1/f/\(id)"
                digests[id] = uploads[id]?.md5
            }
        }
        if unknown.count == request.fileIds.count { return Answer(code: 404, message: "no upload \(unknown[0])") }
        return Answer(data: [
            "finishStatus": failed.isEmpty ? 1 : 0, "failFileIds": failed.joined(separator: ","), "urls": urls,
            "md5": digests, "unknownFileIds": unknown.joined(separator: ","),
        ])
    }

    /// Assembles an upload. Returns whether the object is complete, or nil if the id is unknown.
    private mutating func assemble(_ id: String, of user: String) -> Bool? {
        guard var upload = upload(id, of: user) else { return nil }
        if upload.finished { return true }
        let total = (upload.size + SectionPart.size - 1) / SectionPart.size
        guard upload.received.count == total else {
            // A client that does not know of the loss asks with good reason.
            if !upload.hasLostBlocks {
                violations.append("isFinish of \(id) with \(upload.received.count) of \(total) blocks sent")
            }
            return false
        }
        if keepsContent {
            var digest = RunningMD5()
            for number in 1...total { digest.update(upload.blocks[number] ?? Data()) }
            guard digest.finish() == upload.md5 else {
                mixtures.append("\(upload.fileName) (\(id)) is not the content its key names")
                return false
            }
        }
        upload.finished = true
        // Keep no blocks after the check for mixtures: many large trials share one process.
        upload.blocks = [:]
        uploads[id] = upload
        note(finished: upload.md5, of: user)
        return true
    }

    /// Rolls back uploads, like a server whose assembly failed.
    mutating func loseBlocks(_ ids: [String]) {
        for id in ids {
            lostBlocks += uploads[id]?.received.count ?? 0
            uploads[id]?.blocks = [:]
            uploads[id]?.received = []
            uploads[id]?.hasLostBlocks = true
        }
    }

    mutating func delete(_ body: Data, user: String) -> Answer {
        guard let request = try? JSONDecoder().decode(Identifiers.self, from: body) else {
            return refuse("delete body: \(String(decoding: body, as: UTF8.self))")
        }
        for id in request.fileIds where uploads[id].map({ $0.user == user }) ?? true {
            uploads[id] = nil
            deleted.insert(id)
        }
        return Answer()
    }

    mutating func commit(_ body: Data, user: String) -> Answer {
        let (uploads, announced) = (uploads, announced)
        let (answer, violation) = posts.commit(body, user: user) { id in
            guard let upload = uploads[id], upload.user == user else { return nil }
            return announced[id].map { ($0, upload.finished) }
        }
        if let violation { violations.append(violation) }
        return answer
    }

    /// Returns the files in a request. An unknown id becomes a file with the id as its name and no content.
    func files(in body: Data, fileBlock: String?) -> [File] {
        if let request = try? JSONDecoder().decode(PreLoad.self, from: body) {
            return request.files.map { File(name: $0.fileName, path: $0.path, md5: $0.md5) }
        }
        let ids = fileBlock.flatMap(SectionPart.blocks)?.map(\.id) ?? Self.identifiers(body)
        return ids.map { announced[$0] ?? File(id: $0, name: $0, md5: "") }
    }

    package static func identifiers(_ body: Data) -> [String] {
        (try? JSONDecoder().decode(Identifiers.self, from: body))?.fileIds ?? []
    }

    private mutating func refuse(_ why: String) -> Answer {
        violations.append(why)
        return Answer(code: 400, message: why)
    }
}

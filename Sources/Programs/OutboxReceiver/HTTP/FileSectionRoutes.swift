import HTTPTypes
import Hummingbird

/// The four requests of the fileSection protocol.
struct FileSectionRoutes {
    /// The most ids that one request may name.
    static let mostFiles = 50
    /// The most blocks that one request may bring.
    private static let mostBlocks = 16
    /// The most bytes that the blocks of one request may have.
    static let mostBytes = 4 * Int(UploadPlan.blockSize)
    private static let longestFileBlock = 4096
    private static let longestName = 4096
    /// In bytes.
    static let longestID = 128
    /// How long `isFinish` waits for running digests before it answers 2. An answer of 2 costs the client a second
    /// and another request.
    private static let patience = Duration.seconds(1)

    let store: Store
    let links: Links
    private var log: RequestLog { RequestLog(store.logger) }

    // MARK: preLoad.do

    func plans(_ message: JSON, user: String) throws -> [UploadPlan] {
        guard let files = message["files"]?.array else { throw Refusal.notExpectedJSON }
        if let count = message["fileCount"], count.integer != Int64(files.count) {
            throw Refusal.badRequest("fileCount is not the number of files.")
        }
        guard (1...Self.mostFiles).contains(files.count) else {
            throw Refusal.badRequest("files must list 1 to \(Self.mostFiles) files.")
        }
        return try files.map { try plan(for: try AnnouncedFile($0), user) }
    }

    func preLoad(_ plans: [UploadPlan], user: String) async throws -> Response {
        let opened = try await store.preLoad(plans, user: user)
        log.registered(plans, opened, user: user)
        let existing = opened.filter(\.isExisting).map { JSON.string($0.id.description) }
        let ids = JSON.array(opened.map { .string($0.id.description) })
        var reply = [
            JSON.Member(name: "fileIds", value: ids),
            JSON.Member(name: "blocksPerRequest", value: .integer(Int64(Self.mostBlocks))),
            JSON.Member(name: "bytesPerRequest", value: .integer(Int64(Self.mostBytes))),
        ]
        if !existing.isEmpty { reply.append(JSON.Member(name: "existing", value: .array(existing))) }
        return .json(.object(reply))
    }

    private func plan(for file: AnnouncedFile, _ user: String) throws(Refusal) -> UploadPlan {
        guard let md5 = Hex128(file.md5) else { throw .badRequest("md5 must be 32 hex digits.") }
        guard file.totalSize > 0 else { throw .badRequest("totalSize must be positive.") }
        guard file.totalSize <= store.limits.maximumFileSize else {
            throw .tooLarge("The file is larger than this server's limit of \(store.limits.maximumFileSize) bytes.")
        }
        guard file.fileName.utf8.count <= Self.longestName, file.path?.utf8.count ?? 0 <= Self.longestName else {
            throw .badRequest("fileName or path is longer than \(Self.longestName) bytes.")
        }
        return UploadPlan(
            user: user, size: file.totalSize, md5: md5, fileName: file.fileName, path: file.path,
            type: MediaType(file.mimeType).text, modified: file.modified?.seconds, sha256: file.sha256)
    }

    // MARK: upload.do

    func upload(_ request: Request, user: String) async throws -> Response {
        let blocks = try fileBlocks(request).map { try incoming($0, user) }
        let length = blocks.reduce(0) { $0 + $1.length }
        guard length <= Self.mostBytes else {
            throw Refusal.tooLarge("The fragments of a request must not be longer than \(Self.mostBytes) bytes.")
        }
        if let announced = request.announcedLength, announced > length + SectionParser.room {
            throw Refusal.tooLarge("The body is longer than its fragments.")
        }
        var parser = try SectionParser(
            contentType: request.headers[.contentType], name: "sectionFile", lengths: blocks.map(\.length))
        var writer = try BlockWriter(store: store, blocks: blocks) { [log] in log.fragment($0, user: user, isNew: $1) }
        do {
            for try await chunk in request.body {
                try parser.parse(chunk) { index, bytes in
                    try bytes.withUnsafeReadableBytes { try writer.append($0, toBlock: index) }
                }
            }
            try parser.finish()
            try writer.finish()
        } catch {
            writer.abandon()
            throw error
        }
        var brought: [Hex128: (upload: Upload, count: Int)] = [:]
        for case .upload(let upload) in blocks.map(\.destination) {
            brought[upload.id, default: (upload, 0)].count += 1
        }
        for (upload, count) in brought.values { await upload.waitForDigests(afterBringing: count) }
        return .json()
    }

    private func incoming(_ block: FileBlock, _ user: String) throws(Refusal) -> IncomingBlock {
        guard let id = Hex128(block.id) else { throw Refusal.unknownID }
        let destination = try store.destination(of: id, user: user)
        let size =
            switch destination {
            case .upload(let upload): upload.plan.size
            case .finished(let size): size
            }
        let total = (size + UploadPlan.blockSize - 1) / UploadPlan.blockSize
        // Another content: the client must announce its file anew.
        guard block.totalSize == size, block.blockTotal == total else { throw Refusal.unknownID }
        guard (1...total).contains(block.blockNo) else {
            throw Refusal.badRequest("blockNo does not match the file announced in preLoad.do.")
        }
        let offset = (block.blockNo - 1) * UploadPlan.blockSize
        return IncomingBlock(
            block: block, destination: destination, length: Int(min(UploadPlan.blockSize, size - offset)))
    }

    private func fileBlocks(_ request: Request) throws(Refusal) -> [FileBlock] {
        guard let name = HTTPField.Name("file_block"), let text = request.headers[name] else {
            throw .badRequest("The header field file_block is missing. (A proxy may drop names with an underscore.)")
        }
        guard text.utf8.count <= Self.longestFileBlock, let blocks = FileBlock.list(text),
            (1...Self.mostBlocks).contains(blocks.count)
        else {
            throw .badRequest("The header field file_block must be a JSON array of 1 to \(Self.mostBlocks) blocks.")
        }
        return blocks
    }

    // MARK: isFinish.do

    /// Returns the ids asked about. A request without ids only checks the token. Agents send such a request before they have
    /// a file to upload.
    func askedIDs(_ message: JSON, user: String) throws -> [String] { try ids(in: message, atLeast: 0) }

    func isFinish(_ ids: [String], user: String) async throws -> Response {
        let answers = try await settledAnswers(for: ids, user: user)
        var unknown: [String] = []
        var failed: [String] = []
        var isAssembling = false
        var urls: [JSON.Member] = []
        var digests: [JSON.Member] = []
        for (id, answer) in zip(ids, answers) {
            switch answer {
            case .unknown: unknown.append(id)
            case .failed: failed.append(id)
            case .assembling: isAssembling = true
            case .finished(let content):
                urls.append(JSON.Member(name: id, value: .string(links.file(content))))
                digests.append(JSON.Member(name: id, value: .string(content.key.md5.description)))
            }
        }
        guard ids.isEmpty || unknown.count < ids.count else { throw Refusal.unknownID }
        let status: Int64 = failed.isEmpty ? (isAssembling ? 2 : 1) : 0
        log.asked(ids, user: user, status: status)
        var reply = [
            JSON.Member(name: "finishStatus", value: .integer(status)),
            JSON.Member(name: "failFileIds", value: .string(failed.joined(separator: ","))),
            JSON.Member(name: "urls", value: .object(urls)), JSON.Member(name: "md5", value: .object(digests)),
        ]
        if !unknown.isEmpty {
            reply.append(JSON.Member(name: "unknownFileIds", value: .string(unknown.joined(separator: ","))))
        }
        return .json(.object(reply))
    }

    private func settledAnswers(for ids: [String], user: String) async throws -> [Store.Answer] {
        let deadline = ContinuousClock.now + Self.patience
        var hasWaited = false
        var pause = Duration.milliseconds(10)
        while true {
            let answers = ids.map { id in
                Hex128(id).map { store.answer(for: $0, user: user) } ?? .unknown
            }
            guard answers.contains(.assembling), ContinuousClock.now < deadline else { return answers }
            if hasWaited {
                // A digest is still running, which may take long.
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .milliseconds(160))
            } else {
                await store.waitForFinishing(ids.compactMap { Hex128($0) }, of: user)
                hasWaited = true
            }
        }
    }

    // MARK: delete.do

    func deletedIDs(_ message: JSON, user: String) throws -> [String] { try ids(in: message, atLeast: 1) }

    func delete(_ ids: [String], user: String) async throws -> Response {
        let forgotten = try store.delete(ids.compactMap { Hex128($0) }, user: user)
        log.deleted(ids, user: user, forgotten: forgotten)
        return .json()
    }

    private func ids(in message: JSON, atLeast fewest: Int) throws(Refusal) -> [String] {
        guard let ids = message["fileIds"]?.strings else { throw Refusal.notExpectedJSON }
        guard (fewest...Self.mostFiles).contains(ids.count), ids.allSatisfy({ $0.utf8.count <= Self.longestID }) else {
            throw Refusal.badRequest(
                "fileIds must list \(fewest) to \(Self.mostFiles) ids of at most \(Self.longestID) characters.")
        }
        return ids
    }
}

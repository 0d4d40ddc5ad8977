import Logging

/// Logs who did what: a line for each request that changes or registers something.
///
/// Names are quoted, ids and digests are not. The log never contains tokens and URLs, because they grant access.
struct RequestLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger) {
        self.logger = logger
    }

    func registered(_ plans: [UploadPlan], _ opened: [Store.Opened], user: String) {
        logger.info(
            "preLoad",
            metadata: [
                "user": "\(user)", "new": "\(opened.count { !$0.isExisting })",
                "existing": "\(opened.count { $0.isExisting })",
                "files": "\(Self.list(zip(plans, opened).map { Self.text($0, $1) }))",
            ])
    }

    private static func text(_ plan: UploadPlan, _ opened: Store.Opened) -> String {
        "\(opened.id) \(opened.isExisting ? "existing" : "new") md5=\(plan.md5) bytes=\(plan.size) "
            + "name=\(plan.quotedName)"
    }

    func fragment(_ block: FileBlock, user: String, isNew: Bool) {
        logger.debug(
            "upload",
            metadata: [
                "user": "\(user)", "id": "\(Self.quoted(block.id))", "block": "\(block.blockNo)/\(block.blockTotal)",
                "outcome": isNew ? "stored" : "known",
            ])
    }

    func asked(_ ids: [String], user: String, status: Int64) {
        logger.debug(
            "isFinish", metadata: ["user": "\(user)", "ids": "\(Self.quotedList(ids))", "finishStatus": "\(status)"])
    }

    /// - Parameter forgotten: The number of ids that belonged to the user.
    func deleted(_ ids: [String], user: String, forgotten: Int) {
        logger.info(
            "delete", metadata: ["user": "\(user)", "ids": "\(Self.quotedList(ids))", "deleted": "\(forgotten)"])
    }

    /// - Parameter latest: The revision that the post now shows.
    func committed(_ message: CommitMessage, user: String, outcome: Store.CommitOutcome, latest: Int) {
        logger.info(
            "commit",
            metadata: [
                "user": "\(user)", "source": "\(LogText.quoted(message.sourceID))", "revision": "\(message.revision)",
                "shown": "\(latest)", "title": "\(LogText.quoted(message.title))",
                "cover": "\(message.cover.map { Self.quoted($0) } ?? "none")",
                "ids": "\(Self.quotedList(message.fileIDs))",
                "outcome": "\(outcome.rawValue)",
            ])
    }

    /// - Parameter removed: The number of posts that the user had.
    func removedPosts(_ sourceIDs: [String], user: String, removed: Int) {
        logger.info(
            "posts removed",
            metadata: ["user": "\(user)", "sources": "\(Self.quotedList(sourceIDs))", "removed": "\(removed)"])
    }

    func portrait(md5: Hex128, bytes: Int64, user: String) {
        logger.info("portrait", metadata: ["user": "\(user)", "md5": "\(md5)", "bytes": "\(bytes)"])
    }

    private static func quotedList(_ ids: [String]) -> String {
        list(ids.map(quoted))
    }

    /// Returns an id for the log: unquoted if the id has the form of this server's ids, otherwise quoted.
    private static func quoted(_ id: String) -> String { Hex128(id)?.description ?? LogText.quoted(id) }

    /// Lists items, at most about 8 KiB of them: anybody with a token can have 50 long names logged.
    private static func list(_ items: [String]) -> String {
        var list = ""
        for (index, item) in items.enumerated() {
            guard list.utf8.count + item.utf8.count < longestList else {
                return "[\(list), and \(items.count - index) more]"
            }
            list += index == 0 ? item : ", \(item)"
        }
        return "[\(list)]"
    }

    private static let longestList = 8 << 10
}

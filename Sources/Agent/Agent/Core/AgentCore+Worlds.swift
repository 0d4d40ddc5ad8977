import UploadCore

// What the parts of the agent may ask at this moment. While such a view exists, a change of the core copies its tables,
// so nobody keeps one.
extension AgentCore {
    /// The ledger's content, including changes that are not durable yet.
    var stored: LedgerView {
        LedgerView(
            ledger: sources.ledger, boxedUnsaved: boxedUnsaved, scope: sources.scope, trouble: sources.trouble,
            logger: sources.logger)
    }

    /// What the path book may ask.
    var paths: PathWorld {
        PathWorld(
            files: sources.files, stored: stored, boxedMachine: boxedMachine, sidecars: sources.sidecars,
            portraitFolder: book.rules.portraitFolder)
    }

    /// What posts may ask.
    var postWorld: PostWorld { PostWorld(paths: paths, boxedBook: boxedBook, rules: sources.rules) }

    /// What the upload machine may ask.
    var backlog: BacklogWorld { BacklogWorld(stored: stored, boxedBook: boxedBook, boxedPosts: boxedPosts) }

    /// What `Thumbnails` may ask.
    var contents: ContentWorld { ContentWorld(world: paths, active: book.drops) }

    /// What `WatchIntake` may ask.
    var watchWorld: WatchWorld {
        WatchWorld(paths: paths, boxedBook: boxedBook, boxedPosts: boxedPosts, rules: sources.rules)
    }

    /// What `StraySearch` may ask.
    var strayWorld: StrayWorld {
        StrayWorld(paths: paths, boxedBook: boxedBook, boxedPosts: boxedPosts, outbox: outbox)
    }

    /// What requests may ask.
    var uploads: UploadFacts { UploadFacts(boxedMachine: boxedMachine, active: book.drops) }
}

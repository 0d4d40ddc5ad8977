import UploadCore

// Carries out what follows from the examination of pictures and videos.
extension Uploader {
    /// What `Thumbnails` may ask at this moment.
    private var contents: ContentWorld { ContentWorld(world: world, active: book.drops) }

    func handle(_ news: Thumbnails.News) {
        if case .measured(let path, let identity, let facts) = news {
            handle(PathEvent.measured(path, identity, facts))
        } else if !hasStopped {
            carryOut(thumbnails?.handle(news, contents) ?? [])
        }
    }

    /// Queues the content of a record for examination, unless the examination would add nothing.
    func examine(_ record: DropRecord) {
        if !hasStopped { carryOut(thumbnails?.examine(record, contents) ?? []) }
    }

    /// After all pending commits, removes the thumbnail of a content that a path left, if no other path holds the
    /// content.
    func releaseThumbnail(of key: ContentKey?) {
        guard let key, thumbnails != nil else { return }
        commit([]) { $0.carryOut($0.thumbnails?.release(key, $0.contents) ?? []) }
    }

    private func carryOut(_ steps: [Thumbnails.Step]) {
        for step in steps {
            switch step {
            case .learned(let facts, let key, let isAll): learn(facts, of: key, isAll: isAll)
            case .retire(let path): retire(path)
            case .failed(let error): ledgerFailed(error)
            }
        }
    }

    func learn(_ facts: MediaFacts, of key: ContentKey, isAll: Bool) {
        let changes = contents.records(of: key, learning: facts, isAll: isAll)
        if changes.isEmpty { return }
        commit(changes.map { book.keep($0.record) }, isAside: true)
        report(changes.filter(\.isShown).map(\.record.path))
        if machine.hasBacklog, machine.record(of: key) == nil {
            book.leaveToLedger(changes.map(\.record.path), waitingFor: key)
        }
    }
}

extension Store {
    /// The answer of `isFinish` for one id.
    enum Answer: Equatable {
        case unknown
        case finished(Content)
        /// The received blocks do not form the file.
        case failed
        case assembling
    }

    func answer(for id: Hex128, user: String) -> Answer {
        let (upload, finished) = withBooks { ($0.catalog.uploads[id], finishedContent(id, user, $0.catalog)) }
        if let finished { return objects.holds(finished) ? .finished(finished) : .unknown }
        guard let upload, upload.plan.user == user else { return .unknown }
        // Also resumes work that an error or a restart stopped.
        advance(upload)
        switch upload.progress {
        case .incomplete, .failed: return .failed
        case .assembling: return .assembling
        case .gone: return .unknown
        case .finished:
            guard let content = withBooks({ finishedContent(id, user, $0.catalog) }) else { return .unknown }
            return .finished(content)
        }
    }

    /// Waits for the batches that currently digest and finish uploads with these ids.
    func waitForFinishing(_ ids: [Hex128], of user: String) async {
        let uploads = withBooks { books in ids.compactMap { books.catalog.uploads[$0] } }
            .filter { $0.plan.user == user }
        await smallFiles.waitForAll(of: user)
        for ticket in uploads.compactMap(\.finishing) { await finishing.wait(for: ticket) }
    }

    private func finishedContent(_ id: Hex128, _ user: String, _ catalog: Catalog) -> Content? {
        guard let finished = catalog.finished[id], finished.user == user else { return nil }
        return catalog.contents[finished.content]
    }

    /// The destination of a fragment.
    enum Destination {
        case upload(Upload)
        /// The content is already stored; `size` is in bytes.
        case finished(size: Int64)
    }

    func destination(of id: Hex128, user: String) throws(Refusal) -> Destination {
        let (upload, content) = withBooks { ($0.catalog.uploads[id], finishedContent(id, user, $0.catalog)) }
        if let upload, upload.plan.user == user { return .upload(upload) }
        guard let content else { throw .unknownID }
        return .finished(size: content.key.size)
    }

    func content(token: Hex128) -> Content? {
        withBooks { $0.catalog.contents[token] }
    }
}

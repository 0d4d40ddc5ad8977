import Logging
import SystemPackage

extension Store {
    /// An id that was given out for a plan.
    struct Opened: Equatable {
        let id: Hex128
        /// The user has this content already: there is nothing to send.
        let isExisting: Bool
    }

    /// Gives out an id for each plan; all plans are of one user. What is called existing is on the disk itself, and
    /// under its new name, when this returns.
    func preLoad(_ plans: [UploadPlan], user: String) async throws -> [Opened] {
        let time = now()
        let opened = plans.map { plan in
            (id: Hex128.random(), plan: plan, existing: existingContent(for: plan))
        }
        for case (_, let plan, let content?) in opened { link(content, plan) }
        let uploads = opened.filter { $0.existing == nil }.map { Upload(id: $0.id, plan: $0.plan, at: time) }
        let wanted = uploads.reduce(into: Int64(0)) { $0 += $1.plan.size }
        let free = uploads.isEmpty ? .max : try spaceAboveFloor()
        if wanted > withBooks({ $0.catalog.reservations.space(for: user, free: free) }) { lapseReservations() }
        try withBooks { books in
            if !uploads.isEmpty {
                guard books.catalog.openCount(of: user) + uploads.count <= limits.maximumOpenUploads else {
                    throw Refusal.tooManyUploads
                }
                if let quota = limits.quota, books.catalog.usage(of: user) + wanted > quota {
                    throw Refusal.overQuota(quota)
                }
                guard wanted <= books.catalog.reservations.space(for: user, free: free) else { throw Refusal.diskFull }
            }
            try books.journal.append(
                opened.map { item in
                    guard let content = item.existing else { return .opened(item.id, item.plan, at: time) }
                    return .finished(item.id, user: user, content: content.token, at: time)
                })
            for upload in uploads { books.catalog.add(upload) }
            for case (let id, _, let content?) in opened {
                books.catalog.add(id, Catalog.FinishedID(user: user, content: content.token, at: time))
            }
        }
        if opened.contains(where: { $0.existing != nil }) { try await settle() }
        return opened.map { Opened(id: $0.id, isExisting: $0.existing != nil) }
    }

    private func existingContent(for plan: UploadPlan) -> Content? {
        guard let content = withBooks({ $0.catalog.content(plan.content) }), objects.holds(content) else { return nil }
        return content
    }

    /// The content also appears under the name it has this time.
    private func link(_ content: Content, _ plan: UploadPlan) {
        do throws(Errno) {
            try tree.link(
                content.object, user: plan.user, path: SafePath(path: plan.path, fileName: plan.fileName))
        } catch {
            // The content is safe under its first name; a missing second one is no reason to send it again.
            logger.warning("cannot link", metadata: ["name": "\(plan.quotedName)", "error": "\(error)"])
        }
    }
}

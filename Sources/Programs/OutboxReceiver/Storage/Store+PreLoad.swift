import Logging
import SystemPackage

extension Store {
    /// An id issued for a plan.
    struct Opened: Equatable {
        let id: Hex128
        /// Whether the user already has this content, so that the client need not send it.
        let isExisting: Bool
    }

    /// Issues an id for each plan; all plans belong to one user. On return, existing contents are durable and linked
    /// under their new names.
    func preLoad(_ plans: [UploadPlan], user: String) async throws -> [Opened] {
        let time = now()
        var opened: [(id: Hex128, plan: UploadPlan, existing: Content?)] = []
        for plan in plans {
            opened.append((id: .random(), plan: plan, existing: try await existingContent(for: plan)))
        }
        for case (_, let plan, let content?) in opened { link(content, plan) }
        let free = try spaceAboveFloor()
        let wanted = opened.reduce(Int64(0)) { sum, item in
            let (total, isOver) = sum.addingReportingOverflow(item.existing == nil ? item.plan.size : 0)
            return isOver ? .max : total
        }
        // An upload takes memory by its size.
        if wanted > max(free, 0) { throw Refusal.diskFull }
        let uploads = opened.filter { $0.existing == nil }.map { Upload(id: $0.id, plan: $0.plan, at: time) }
        if wanted > withBooks({ $0.catalog.reservations.space(for: user, free: free) }) { lapseReservations() }
        // Ids take space too.
        if free <= 0 { throw Refusal.diskFull }
        let charge = uploads.reduce(into: Int64(0)) { $0 += $1.charge }
        try withBooks { books in
            if !uploads.isEmpty {
                guard books.catalog.openCount(of: user) + uploads.count <= limits.maximumOpenUploads else {
                    throw Refusal.tooManyUploads
                }
                try checkQuota(of: user, for: charge, books.catalog)
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

    /// Returns the content that the user already stored here. MD5 can be forged, so an announced SHA-256 must match.
    /// Without a SHA-256, contents with the same MD5 and size are indistinguishable, and the client must send all
    /// bytes.
    private func existingContent(for plan: UploadPlan) async throws -> Content? {
        let known = withBooks { $0.catalog.contents(plan.content) }.prefix(limits.mostTwins).filter {
            objects.holds($0)
        }
        guard let sha256 = plan.sha256 else { return known.count == 1 ? known.first : nil }
        for content in known where try await digest(of: content) == sha256 { return content }
        guard known.count < limits.mostTwins else { throw Refusal.tooManyTwins }
        return nil
    }

    private func read(_ content: Content) async throws -> Hex256? {
        try await largeWork.inTurn(of: content.key.user) {
            try await Task(executorPreference: largeFileThreads) { try await self.objects.sha256(of: content.object) }
                .value
        }
    }

    /// Returns the content's SHA-256. Computes it on the first request and stores it.
    private func digest(of content: Content) async throws -> Hex256? {
        if let digest = content.sha256 { return digest }
        guard let digest = try await readings.value(for: content.token, { try await self.read(content) }) else {
            return nil
        }
        try withBooks { books in
            guard var known = books.catalog.contents[content.token], known.object == content.object else { return }
            known.sha256 = digest
            try books.journal.append([.content(known)])
            books.catalog.add(known)
        }
        return digest
    }

    /// Links the content under the name in this plan, if the quota leaves room for the name.
    private func link(_ content: Content, _ plan: UploadPlan) {
        guard withBooks({ room(for: plan.user, $0.catalog) }) >= plan.charge - Charge.file(plan.size) else { return }
        do throws(Errno) {
            let path = SafePath(path: plan.path, fileName: plan.fileName)
            let name = try tree.link(content.object, user: plan.user, path: path)
            try record([path.text, name.path], of: content)
        } catch {
            // The content is stored under its first name; a missing second link is no reason to send it again.
            logger.warning(
                "cannot link a file under its name", metadata: ["name": "\(plan.quotedName)", "error": "\(error)"])
        }
    }

    /// Adds paths to the content, so that a search by these paths finds it.
    private func record(_ paths: [String], of content: Content) throws(Errno) {
        try withBooks { books throws(Errno) in
            guard var known = books.catalog.contents[content.token], known.add(paths: paths) else { return }
            try books.journal.append([.content(known)])
            books.catalog.add(known)
        }
    }
}

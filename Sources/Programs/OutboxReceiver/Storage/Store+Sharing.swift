import Logging
import SystemPackage

/// Stores content of several users only once.
///
/// The receiver compares a content with other users' contents only after its confirmation, when no client waits.
/// Otherwise the response time would tell one user what another user has.
extension Store {
    /// A content stored under a name of its own, because its MD5 was taken.
    struct Shareable: Sendable {
        let content: Content
        let name: FileTree.Name?
    }

    /// Compares a confirmed content with earlier ones, and drops its bytes if an earlier one has the same.
    func shareLater(_ content: Content, name: FileTree.Name?) {
        sharing.add(Shareable(content: content, name: name)) { $0.forEach(self.share) }
    }

    private func share(_ item: Shareable) {
        let object = item.content.object
        do {
            guard let other = try twin(of: object) else { return }
            // The catalog now uses `other`, so `other` stays.
            guard try move(item.content, to: other) else { return }
            if let name = item.name { try tree.relink(name, from: object, to: other) }
            // The journal must be durable before the removal, because an older journal knows only the old name.
            if synchronizes { try root.synchronizeFileSystem() }
            let isUsed = withBooks { $0.catalog.uses(object) || $0.journal.isSuspect }
            if !isUsed { try objects.remove(object) }
        } catch {
            logger.warning(
                "cannot replace an object by its duplicate",
                metadata: ["object": "\(object.file)", "error": "\(error)"])
        }
    }

    /// Returns the first confirmed object with the same bytes.
    private func twin(of object: ObjectName) throws(Errno) -> ObjectName? {
        for variant in 0..<object.variant {
            let other = ObjectName(md5: object.md5, variant: variant)
            guard withBooks({ $0.catalog.uses(other) }), try objects.status(of: other) != nil else { continue }
            if try objects.isSame(object, as: other) { return other }
        }
        return nil
    }

    /// - Returns: False if the content no longer uses that object, or `other` is not confirmed.
    private func move(_ content: Content, to other: ObjectName) throws -> Bool {
        try withBooks { books in
            guard let known = books.catalog.contents[content.token], known.object == content.object,
                books.catalog.uses(other)
            else { return false }
            let moved = Content(
                key: known.key, token: known.token, object: other, name: known.name, type: known.type,
                sha256: known.sha256, at: known.at)
            try books.journal.append([.content(moved)])
            books.catalog.add(moved)
            return true
        }
    }
}

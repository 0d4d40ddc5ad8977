import Logging
import SystemPackage

/// Content that several users have is stored once.
///
/// It is compared with other users' only after it was confirmed, when nobody waits for it any more: otherwise the time that
/// an answer takes would tell one user what another one has.
extension Store {
    /// A content that was stored under a name of its own, since another with its MD5 was there first.
    struct Shareable: Sendable {
        let content: Content
        let name: FileTree.Name?
    }

    /// Compares a confirmed content with those before it, and lets go of its bytes where one has the same.
    func shareLater(_ content: Content, name: FileTree.Name?) {
        sharing.add(Shareable(content: content, name: name)) { $0.forEach(self.share) }
    }

    private func share(_ item: Shareable) {
        let object = item.content.object
        do {
            guard let other = try twin(of: object) else { return }
            // From here on other is used, so it stays.
            guard try move(item.content, to: other) else { return }
            if let name = item.name { try tree.relink(name, from: object, to: other) }
            // The journal must last before the only name that an older one knows goes.
            if synchronizes { try root.synchronizeFileSystem() }
            let isUsed = withBooks { $0.catalog.uses(object) || $0.journal.isSuspect }
            if !isUsed { try objects.remove(object) }
        } catch {
            logger.warning("cannot share an object", metadata: ["object": "\(object.file)", "error": "\(error)"])
        }
    }

    /// The first confirmed object with the same bytes.
    private func twin(of object: ObjectName) throws(Errno) -> ObjectName? {
        for variant in 0..<object.variant {
            let other = ObjectName(md5: object.md5, variant: variant)
            guard withBooks({ $0.catalog.uses(other) }), try objects.status(of: other) != nil else { continue }
            if try objects.isSame(object, as: other) { return other }
        }
        return nil
    }

    /// - Returns: False where the content is not that object any more, or the other one not confirmed.
    private func move(_ content: Content, to other: ObjectName) throws -> Bool {
        try withBooks { books in
            guard let known = books.catalog.contents[content.token], known.object == content.object,
                books.catalog.uses(other)
            else { return false }
            let moved = Content(
                key: known.key, token: known.token, object: other, name: known.name, type: known.type,
                sha256: known.sha256)
            try books.journal.append([.content(moved)])
            books.catalog.add(moved)
            return true
        }
    }
}

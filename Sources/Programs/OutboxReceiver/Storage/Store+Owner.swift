/// What the page of an owner shows. Everything here belongs to one user.
extension Store {
    /// Some items of a list, the newest first.
    struct Page<Item> {
        let items: [Item]
        /// Where the next page begins; nil if no item is older.
        let older: Int?
        /// The number of items of all pages.
        let total: Int
    }

    /// A post and the picture that stands for it.
    struct Post {
        let commit: Commit
        /// The cover, or the first picture if the cover has no small version; nil without any picture.
        let picture: Content?
    }

    /// What a user stores, and may store.
    struct Usage: Equatable {
        /// What counts for the quota; ``Charge``.
        let used: Int64
        /// Nil: no limit.
        let quota: Int64?
    }

    /// Returns files of the user that still exist. A page has fewer items if somebody removed files from `objects/`.
    func files(of user: String, before position: Int?, count: Int) -> Page<Content> {
        let (contents, older, total) = withBooks { books in
            let (page, total) = books.catalog.arrivals(of: user, before: position, count: count)
            return (page.tokens.compactMap { books.catalog.contents[$0] }, page.older, total)
        }
        return Page(items: contents.filter { objects.holds($0) }, older: older, total: total)
    }

    private static let searchedAtATime = 64
    /// How long a search works before others get their turn. A content with many long names may take as long.
    private static let searchTurn = Duration.milliseconds(10)

    /// Returns the user's files that match, the newest first.
    ///
    /// Other work goes on between the parts of a long search, also on the thread of this task.
    /// - Parameter count: The most items. The total counts the other matches as well.
    func search(_ pattern: NamePattern, of user: String, count: Int) async -> Page<Content> {
        var found: [Content] = []
        var others = 0
        var position: Int?
        repeat {
            let (contents, older) = withBooks { books in
                let page = books.catalog.arrivals(of: user, before: position, count: Self.searchedAtATime).0
                return (page.tokens.compactMap { books.catalog.contents[$0] }, page.older)
            }
            var begun = ContinuousClock.now
            for content in contents {
                if ContinuousClock.now - begun > Self.searchTurn {
                    await Task.yield()
                    begun = .now
                }
                guard pattern.matches(content) else { continue }
                if found.count == count {
                    others += 1
                } else if objects.holds(content) {
                    found.append(content)
                }
            }
            position = older
            await Task.yield()
        } while position != nil
        return Page(items: found, older: nil, total: found.count + others)
    }

    /// Returns posts of the user, by their date.
    func posts(of user: String, before position: Int?, count: Int) -> Page<Post> {
        let (commits, older, total) = withBooks { books in
            let (page, total) = books.catalog.posts(of: user, before: position, count: count)
            return (page.tokens.compactMap { books.catalog.commits[$0] }, page.older, total)
        }
        return Page(items: commits.map { Post(commit: $0, picture: picture(of: $0)) }, older: older, total: total)
    }

    private func picture(of commit: Commit) -> Content? {
        for token in [commit.cover].compactMap({ $0 }) + commit.contents {
            guard let content = content(token: token), SmallPictures.mayShow(MediaType(content.type)) else { continue }
            if objects.holds(content) { return content }
        }
        return nil
    }

    func usage(of user: String) -> Usage {
        withBooks { usage(of: user, $0.catalog) }
    }

    func usage(of user: String, _ catalog: borrowing Catalog) -> Usage {
        let quota = limits.quota(of: user)
        // Names are counted only where they matter.
        return Usage(used: catalog.charge(of: user) + (quota == nil ? 0 : tree.charge(of: user)), quota: quota)
    }

    /// Returns how much the user's quota leaves; below 0 if the quota was lowered.
    func room(for user: String, _ catalog: borrowing Catalog) -> Int64 {
        let usage = usage(of: user, catalog)
        return usage.quota.map { $0 - usage.used } ?? .max / 2
    }

    /// Throws a ``Refusal`` if the user's quota does not leave `charge` bytes.
    func checkQuota(of user: String, for charge: Int64, _ catalog: borrowing Catalog) throws(Refusal) {
        guard charge <= room(for: user, catalog) else { throw .overQuota(limits.quota(of: user) ?? 0) }
    }
}

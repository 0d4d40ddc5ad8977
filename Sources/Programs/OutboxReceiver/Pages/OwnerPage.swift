import HTTPTypes
import Hummingbird

/// The page at the server's own address for an owner: the posts, the latest files, the space they take.
///
/// All links are relative, so the page works under every name of the server, also through a tunnel or a proxy.
struct OwnerPage {
    /// The number of files, or of older posts, on a page.
    static let size = 60
    /// The most bytes of a search.
    static let longestSearch = 256
    /// The number of posts above the latest files.
    private static let latestPosts = 8

    /// Which part of the lists a page shows.
    enum Part: Equatable {
        /// The latest posts and files.
        case latest
        /// Files before a position.
        case files(before: Int)
        /// Posts before a position.
        case posts(before: Int)
        /// Files whose names match this text.
        case search(String)

        /// Returns the text of the form without the spaces around it; nil without any text.
        private static func searchText(of fields: FormFields) -> String? {
            guard let text = fields["q"], let first = text.firstIndex(where: { !$0.isWhitespace }),
                let last = text.lastIndex(where: { !$0.isWhitespace })
            else { return nil }
            return String(text[first...last])
        }

        init(_ request: Request) {
            let fields = FormFields(request.uri.query ?? "")
            if let text = Self.searchText(of: fields) {
                self = .search(text)
            } else if let position = fields["before"].flatMap({ Int($0) }) {
                self = .files(before: position)
            } else if let position = fields["posts"].flatMap({ Int($0) }) {
                self = .posts(before: position)
            } else {
                self = .latest
            }
        }
    }

    let user: String
    /// Whether the user signed in; false on a receiver without tokens.
    let isSignedIn: Bool
    let part: Part
    let files: Store.Page<Content>?
    let posts: Store.Page<Store.Post>?
    let usage: Store.Usage
    let hasSmallPictures: Bool
    private let links = Links(prefix: ".")

    init(of user: String, isSignedIn: Bool, part: Part, store: Store, hasSmallPictures: Bool) async {
        self.user = user
        self.isSignedIn = isSignedIn
        self.part = part
        self.hasSmallPictures = hasSmallPictures
        usage = store.usage(of: user)
        switch part {
        case .latest:
            files = store.files(of: user, before: nil, count: Self.size)
            posts = store.posts(of: user, before: nil, count: Self.latestPosts)
        case .files(let position):
            files = store.files(of: user, before: position, count: Self.size)
            posts = nil
        case .posts(let position):
            files = nil
            posts = store.posts(of: user, before: position, count: Self.size)
        case .search(let text):
            posts = nil
            files = await Self.search(text, of: user, in: store)
        }
    }

    /// Returns nil for a text that is too long.
    private static func search(_ text: String, of user: String, in store: Store) async -> Store.Page<Content>? {
        guard text.utf8.count <= longestSearch else { return nil }
        guard let pattern = NamePattern(text) else { return Store.Page(items: [], older: nil, total: 0) }
        return await store.search(pattern, of: user, count: size)
    }

    var response: Response {
        let isRefused = files == nil && posts == nil
        return HTMLPage.home(
            HTMLPage.text(title: "Outbox receiver", style: PageStyle.home.text, body: body),
            status: isRefused ? .badRequest : .ok)
    }

    private var body: String {
        """
        <header class="top">
        <div>
        <h1>\(isSignedIn ? "<bdi>\(HTMLText.escaped(user))</bdi>" : "Outbox receiver")</h1>
        <p class="facts">\(space)</p>
        \(meter)
        </div>
        \(isSignedIn ? "<form method=\"post\" action=\"./sign-out\"><button class=\"quiet\">Sign out</button></form>" : "")
        </header>
        <main>
        \(postSection)
        \(fileSection)
        </main>
        """
    }

    // MARK: Space

    private var space: String {
        guard let quota = usage.quota else { return "\(FileSize.text(usage.used)) stored" }
        return "\(FileSize.text(usage.used)) of \(FileSize.text(quota)) used"
    }

    private var meter: String {
        guard let quota = usage.quota, quota > 0 else { return "" }
        let percent = Int(Double(min(usage.used, quota)) / Double(quota) * 100)
        return "<meter min=\"0\" max=\"100\" high=\"90\" value=\"\(percent)\" aria-label=\"Space\">\(percent) %</meter>"
    }

    // MARK: Posts

    private var postSection: String {
        guard let posts, !posts.items.isEmpty || part != .latest else { return "" }
        return """
            \(heading("Posts", posts.total))
            <div class="shelf posts">
            \(posts.items.map(tile).joined(separator: "\n"))
            </div>
            \(pager(older: posts.older.map { "?posts=\($0)" }, "Older posts"))
            """
    }

    private func tile(_ post: Store.Post) -> String {
        let commit = post.commit
        let title = HTMLText.escaped(commit.title.isEmpty ? "Untitled" : commit.title)
        let count = commit.contents.count == 1 ? "1 file" : "\(commit.contents.count) files"
        let date = commit.createDate.isEmpty ? "" : "\(PostDate.html(commit.createDate)) · "
        return """
            <a class="tile" href="\(HTMLText.escaped(links.source(commit)))">\(thumb(post.picture, name: commit.title))\
            <bdi class="label">\(title)</bdi><small>\(date)\(count)</small></a>
            """
    }

    // MARK: Files

    private var fileSection: String {
        if case .search(let text) = part { return results(of: text) }
        guard let files else { return "" }
        guard !files.items.isEmpty else {
            let isEmpty = files.total == 0
            return isEmpty ? "<p class=\"card\">Nothing has arrived yet.</p>" : pager(older: next(files), "Older files")
        }
        return """
            \(heading(part == .latest ? "Latest files" : "Files", files.total))
            \(searchForm())
            \(shelf(files.items))
            \(pager(older: next(files), "Older files"))
            """
    }

    /// Works without a script: a browser asks for the page with the text in its address.
    private func searchForm(_ text: String = "") -> String {
        """
        <form class="row search" method="get" action="./">
        <input type="search" name="q" value="\(HTMLText.escaped(text))" maxlength="\(Self.longestSearch)" required \
        aria-label="Name of a file" placeholder="beach.jpg, trip/*.mp4">
        <button class="quiet">Find</button>
        </form>
        """
    }

    private func results(of text: String) -> String {
        let count = files.map { files in
            switch files.total {
            case 0: "Nothing matches"
            case 1: "1 file matches"
            default: "\(files.total) files match" + (files.total > files.items.count ? "; the newest are shown" : "")
            }
        }
        return """
            <h2>Files</h2>
            \(searchForm(text))
            <p class="facts found">\(count ?? "The text has more than \(Self.longestSearch) bytes")</p>
            \(shelf(files?.items ?? []))
            \(pager(older: nil, ""))
            """
    }

    private func shelf(_ files: [Content]) -> String {
        files.isEmpty ? "" : "<div class=\"shelf\">\n\(files.map(tile).joined(separator: "\n"))\n</div>"
    }

    private func next(_ files: Store.Page<Content>) -> String? { files.older.map { "?before=\($0)" } }

    private func tile(_ content: Content) -> String {
        let name = HTMLText.escaped(content.name)
        let time = content.at.map { " · \(ClockTime.html($0))" } ?? ""
        return """
            <a class="tile" href="\(HTMLText.escaped(links.file(content)))" title="\(name)">\
            \(thumb(content, name: content.name))<bdi class="label">\(name)</bdi>\
            <small>\(FileSize.text(content.key.size))\(time)</small></a>
            """
    }

    // MARK: Parts

    /// The small version of a picture over the extension of its name, which shows while there is no picture.
    private func thumb(_ content: Content?, name: String) -> String {
        let type = content.map { MediaType($0.type) }
        let isDrawn = hasSmallPictures && type.map(SmallPictures.mayShow) ?? false
        let source = isDrawn ? content.map { HTMLText.escaped(links.small($0)) } : nil
        let picture = source.map { "<img src=\"\($0)\" alt=\"\" loading=\"lazy\" decoding=\"async\">" } ?? ""
        let film = type?.showing == .video ? " film" : ""
        return "<span class=\"thumb\(film)\" aria-hidden=\"true\">\(Self.kind(of: name))\(picture)</span>"
    }

    /// Returns `JPG` for `beach.jpg`; nothing for a name without a short extension.
    private static func kind(of name: String) -> String {
        // Titles are names, too, and may be long.
        let end = name.utf8.suffix(6)
        guard let dot = end.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return "" }
        let kind = String(decoding: end[end.index(after: dot)...], as: UTF8.self)
        let isPlain = kind.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return isPlain && !kind.isEmpty ? kind.uppercased() : ""
    }

    private func heading(_ title: String, _ count: Int) -> String {
        "<h2>\(title) <small>\(count)</small></h2>"
    }

    private func pager(older: String?, _ title: String) -> String {
        let links = [
            part == .latest ? nil : "<a href=\"./\">Latest</a>", older.map { "<a href=\"./\($0)\">\(title)</a>" },
        ].compactMap { $0 }
        return links.isEmpty ? "" : "<nav class=\"pager\">\(links.joined(separator: "\n"))</nav>"
    }
}

import Glibc

/// The page of a post: a single document without scripts.
struct SourcePage {
    /// Titles with more characters get a smaller font.
    private static let longTitle = 80

    let commit: Commit
    /// The post's files that still exist, the cover first.
    let contents: [Content]
    let links: Links
    /// Whether tiles show small versions of pictures.
    var hasSmallPictures = false

    // MARK: The document

    var html: String {
        let title = HTMLText.escaped(commit.title.isEmpty ? "Untitled" : commit.title)
        let rest = contents.filter { $0 != cover }
        let seen = rest.filter { MediaType($0.type).showing != .link }
        let linked = rest.filter { MediaType($0.type).showing == .link }
        let body = """
            <header dir="auto">
            <h1\(commit.title.count > Self.longTitle ? " class=\"long\"" : "")>\(title)</h1>
            <p class="facts">\(facts.joined(separator: " · "))</p>
            </header>
            <main>
            \(cover.map { large($0) } ?? "")
            \(Self.wrapped(seen.map(tile), in: "div", "grid"))
            \(Self.wrapped(linked.map { "<li>\(link(to: $0))</li>" }, in: "ul", "files"))
            </main>
            """
        return HTMLPage.text(title: title, style: PageStyle.post.text, body: body)
    }

    /// The first file that a page can show.
    private var cover: Content? { contents.first { MediaType($0.type).showing != .link } }

    private var facts: [String] {
        let size = contents.reduce(into: Int64(0)) { $0 += $1.key.size }
        let count = contents.count == 1 ? "1 file" : "\(contents.count) files"
        var facts = contents.isEmpty ? ["<span>no files</span>"] : ["<span>\(count), \(FileSize.text(size))</span>"]
        if !commit.createDate.isEmpty { facts.insert(PostDate.html(commit.createDate), at: 0) }
        if commit.revision > 1 { facts.append("<span>revision \(commit.revision)</span>") }
        return facts
    }

    private static func wrapped(_ items: [String], in tag: String, _ kind: String) -> String {
        items.isEmpty ? "" : "<\(tag) class=\"\(kind)\">\n\(items.joined(separator: "\n"))\n</\(tag)>"
    }

    // MARK: Files

    private func large(_ content: Content) -> String {
        switch MediaType(content.type).showing {
        case .video: "<figure class=\"cover film\">\(video(content))</figure>"
        default:
            "<a class=\"cover\" href=\"\(url(content))\">"
                + "\(hasSmallPictures ? small(content, for: .cover) : picture(content))</a>"
        }
    }

    private func tile(_ content: Content) -> String {
        switch MediaType(content.type).showing {
        case .video: "<figure class=\"film\">\(video(content))</figure>"
        default:
            "<a href=\"\(url(content))\">\(hasSmallPictures ? small(content, for: .tile) : picture(content, attributes: Self.lazy))</a>"
        }
    }

    private static let lazy = " loading=\"lazy\""

    /// Shows name and size behind the small version, in case the server cannot draw it. A cover that every browser shows is
    /// then the picture itself, which may be transparent.
    private func small(_ content: Content, for use: SmallPictures.Use) -> String {
        let isBare = use == .cover && MediaType(content.type).showing == .picture
        return """
            \(isBare ? "" : named(content))<img src="\(HTMLText.escaped(links.small(content, for: use)))" alt="" \
            title="\(HTMLText.escaped(content.name))"\(use == .cover ? "" : Self.lazy)>
            """
    }

    private func named(_ content: Content) -> String {
        """
        <span class="name"><bdi>\(HTMLText.escaped(content.name))</bdi>\
        <small>\(FileSize.text(content.key.size))</small></span>
        """
    }

    private func picture(_ content: Content, attributes: String = "") -> String {
        let type = MediaType(content.type)
        let name = HTMLText.escaped(content.name)
        guard type.showing == .pictureForSome else {
            return "<img src=\"\(url(content))\" alt=\"\(name)\" title=\"\(name)\"\(attributes)>"
        }
        // A browser that does not support the type does not fetch the picture, and shows name and size instead.
        return """
            \(named(content))<picture><source type="\(HTMLText.escaped(type.text))" \
            srcset="\(url(content))"><img alt=""\(attributes)></picture>
            """
    }

    private func video(_ content: Content) -> String {
        """
        <video controls preload="metadata" src="\(url(content))" aria-label="\(HTMLText.escaped(content.name))"></video>\
        <figcaption>\(link(to: content))</figcaption>
        """
    }

    private func link(to content: Content) -> String {
        """
        <a href="\(url(content))"><bdi>\(HTMLText.escaped(content.name))</bdi></a> \
        <small>\(FileSize.text(content.key.size))</small>
        """
    }

    private func url(_ content: Content) -> String { HTMLText.escaped(links.file(content)) }

    // MARK: Content security policy

    /// Allows pictures and videos of this server and the style sheet, nothing else (https://www.w3.org/TR/CSP3/).
    /// `allow-downloads` is needed because a sandbox forbids downloads.
    var securityPolicy: String {
        """
        default-src 'none'; img-src \(pictureSources); media-src \(links.filesSource); \
        style-src 'sha256-\(PageStyle.post.digest)'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        sandbox allow-downloads
        """
    }

    private var pictureSources: String {
        hasSmallPictures && links.smallSource != links.filesSource
            ? "\(links.filesSource) \(links.smallSource)" : links.filesSource
    }
}

/// Formats the date of a post, `yyyy-MM-dd HH:mm:ss` in UTC, for people.
enum PostDate {
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    /// Whether the text has this format and names an existing day.
    static func isDate(_ text: String) -> Bool { day(of: text) != nil }

    /// Returns a `time` element, or the escaped text in a `span` if the text is no such date.
    static func html(_ text: String) -> String {
        guard let (year, month, day) = day(of: text) else { return "<span>\(HTMLText.escaped(text))</span>" }
        let machine = text.replacing(" ", with: "T") + "Z"
        return "<time datetime=\"\(machine)\" title=\"\(text) UTC\">\(day) \(months[month - 1]) \(year)</time>"
    }

    private static func day(of text: String) -> (year: Int, month: Int, day: Int)? {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let shape = text.utf8.map { digits.contains($0) ? UInt8(ascii: "0") : $0 }
        guard shape.elementsEqual("0000-00-00 00:00:00".utf8) else { return nil }
        let parts = text.split { "- :".contains($0) }.compactMap { Int($0) }
        guard parts.count == 6, parts[0] > 0, (1...12).contains(parts[1]),
            (1...days(of: parts[1], in: parts[0])).contains(parts[2]), parts[3] < 24, parts[4] < 60, parts[5] < 60
        else { return nil }
        return (parts[0], parts[1], parts[2])
    }

    private static func days(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// Formats a time of the server.
enum ClockTime {
    /// Returns a `time` element such as `23 Nov 2026, 14:03`.
    /// - Parameter seconds: Since 1970.
    static func html(_ seconds: Int64) -> String {
        "<time datetime=\"\(universal(seconds))\">\(local(seconds))</time>"
    }

    /// Returns the time for people, in the server's time zone: `23 Nov 2026, 14:03`.
    static func local(_ seconds: Int64) -> String {
        var seconds = time_t(seconds)
        var time = tm()
        localtime_r(&seconds, &time)
        return text(&time, "%-d %b %Y, %H:%M")
    }

    /// Returns the time for programs (RFC 3339): `2026-11-23T13:03:00Z`.
    static func universal(_ seconds: Int64) -> String {
        var seconds = time_t(seconds)
        var time = tm()
        gmtime_r(&seconds, &time)
        return text(&time, "%Y-%m-%dT%H:%M:%SZ")
    }

    private static func text(_ time: inout tm, _ format: String) -> String {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, format, &time)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

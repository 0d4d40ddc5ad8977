import Testing
import UploadCore

@Suite("Template of names")
struct NameTemplateTests {
    private func values(
        path: String = "trip/beach.JPG", mime: String = "image/jpeg", kind: MediaType.Kind = .image
    ) throws -> NameTemplate.Values {
        NameTemplate.Values(
            prefix: "photos/", account: "me", key: ContentKey(high: 1, low: 2), type: MediaType(kind: kind, mime: mime),
            path: try #require(RelativePath(path)), modified: 1_700_000_000_123)
    }

    @Test(
        "fills in placeholders",
        arguments: [
            (NameTemplate.standard, "photos/00000000000000010000000000000002.jpg"),
            ("{path}", "trip/beach.JPG"), ("{prefix}{name}", "photos/beach.JPG"),
            ("{account}/{key}", "me/00000000000000010000000000000002"),
            ("{date:%Y/%m/%d-%H%M%S%%}/{name}", "2023/11/14-221320%/beach.JPG"),
            ("a{key}b", "a00000000000000010000000000000002b"),
        ])
    func fills(template: String, key: String) throws {
        #expect(try NameTemplate(template).name(for: try values()) == key)
    }

    @Test(
        "numbers copies before the extension",
        arguments: [
            ("{path}", "trip/beach.JPG", "trip/beach (2).JPG"), ("{path}", "trip.d/beach", "trip.d/beach (2)"),
            ("{path}", "trip/.hidden", "trip/.hidden (2)"), ("{path}", "a.tar.gz", "a.tar (2).gz"),
            ("{name}", "b.", "b (2)."),
        ])
    func copies(template: String, path: String, key: String) throws {
        #expect(try NameTemplate(template).name(for: try values(path: path), copy: 2) == key)
    }

    @Test(
        "takes the extension from the type, and from the file if the type is unknown",
        arguments: [
            ("a.txt", MediaType.Kind.image, "x.jpg"), ("a.TXT", .other, "x.txt"), ("a", .other, "x"),
            (".txt", .other, "x"),
            ("a.t t", .other, "x"), ("a.tüt", .other, "x"), ("a.verylongending", .other, "x"), ("d.e/a", .other, "x"),
            ("a.", .other, "x"),
        ])
    func extensions(path: String, kind: MediaType.Kind, key: String) throws {
        let values = try values(path: path, kind: kind)
        let full = try NameTemplate("{key}{ext}").name(for: values)
        #expect(full.replacing(values.key.description, with: "x") == key)
    }

    @Test("writes names that are not UTF-8 with escapes")
    func bytes() throws {
        var values = try values()
        values.path = try #require(RelativePath(Array("a%/b".utf8) + [0xFF]))
        #expect(try NameTemplate("{path}").name(for: values) == "a%25/b%FF")
        #expect(try NameTemplate("{name}").name(for: values) == "b%FF")
    }

    @Test("takes 1970 for an unknown modification time")
    func noTime() throws {
        var values = try values()
        values.modified = nil
        #expect(try NameTemplate("{date:%Y/%m}/{name}").name(for: values) == "1970/01/beach.JPG")
    }

    @Test(
        "says what is wrong with a template",
        arguments: [
            ("{prefix}", "must contain {key}, {path} or {name}; otherwise all files have the same name"),
            ("", "must contain {key}, {path} or {name}; otherwise all files have the same name"),
            ("{key", "has a { without a }"), ("key}", "has a } without a {"),
            (
                "{md5}",
                "has an unknown placeholder {md5}; it knows {prefix}, {key}, {ext}, {path}, {name}, {date:%Y/%m} and {account}"
            ),
            ("{key}{date}", "needs a format in {date}, as in {date:%Y/%m}"),
            ("{key}{date:}", "needs a format in {date:}, as in {date:%Y/%m}"),
            ("{key}{date:%y}", "has an unknown %y in {date:%y}; it knows %Y, %m, %d, %H, %M, %S and %%"),
            ("{key}{date:%}", "has an unknown % in {date:%}; it knows %Y, %m, %d, %H, %M, %S and %%"),
        ])
    func objections(template: String, text: String) {
        #expect {
            try NameTemplate(template)
        } throws: {
            ($0 as? NameTemplate.Objection)?.description == text
        }
    }
}

import Testing
import URLs

@Suite("The origin of a URL")
struct WebOriginTests {
    @Test(
        "is the same for the same scheme, host and port",
        arguments: [
            ("https://a.example", "https://a.example/x?y#z"), ("https://a.example", "HTTPS://A.Example:443/"),
            ("http://a.example", "http://a.example:80"),
            ("http://a.example:8787/base", "http://a.example:8787/files/1"),
            ("http://a.example:", "http://a.example"), ("http://[::1]:1/", "http://[::1]:1"),
        ])
    func same(one: String, other: String) throws {
        let origin = try #require(WebOrigin(one))
        #expect(origin == WebOrigin(other))
    }

    @Test(
        "differs by scheme, host or port",
        arguments: [
            "http://a.example", "https://a.example:444", "https://b.example", "https://a.example.evil",
            "https://aa.example", "https://a.example.", "http://a.example:443",
        ])
    func different(other: String) throws {
        let origin = try #require(WebOrigin(other))
        #expect(origin != WebOrigin("https://a.example"))
    }

    @Test(
        "of a URL that programs read differently is none",
        arguments: [
            "https://a.example@evil.example/", "https://a.example:x/", "https://a.example:70000/", "https:///x",
            "//a.example", "ftp://a.example", "",
        ])
    func none(url: String) {
        #expect(WebOrigin(url) == nil)
    }
}

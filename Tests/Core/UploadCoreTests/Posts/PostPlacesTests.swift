import Testing
import UploadCore

@Suite("Places of posts")
struct PostPlacesTests {
    @Test(
        "makes the directory around source.toml a source, but never the outbox itself",
        arguments: [
            ("trip/source.toml", "trip"), ("a/b/source.toml", "a/b"), ("source.toml", nil), ("trip/Source.toml", nil),
            ("trip/source.toml.bak", nil), ("trip/xsource.toml", nil), ("source.toml/a.jpg", nil), ("", nil),
        ] as [(String, String?)])
    func directory(path: String, directory: String?) throws {
        let path = try #require(RelativePath(path))
        #expect(PostPlaces.directory(of: path)?.description == directory)
    }

    @Test("finds the description in the directory")
    func description() {
        let directory: RelativePath = "a/b"
        #expect(PostPlaces.description(of: directory).description == "a/b/source.toml")
        #expect(PostPlaces.directory(of: PostPlaces.description(of: directory)) == directory)
    }
}

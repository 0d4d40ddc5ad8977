import Testing
import UploadCore

@testable import Reports

@Suite("Places of sources")
struct SourcePlacesTests {
    @Test(
        "makes the directory around source.toml a source, but never the outbox itself",
        arguments: [
            ("trip/source.toml", "trip"), ("a/b/source.toml", "a/b"), ("source.toml", nil), ("trip/Source.toml", nil),
            ("trip/source.toml.bak", nil), ("trip/xsource.toml", nil), ("source.toml/a.jpg", nil), ("", nil),
        ] as [(String, String?)])
    func directory(path: String, directory: String?) throws {
        let path = try #require(RelativePath(path))
        #expect(SourcePlaces.directory(of: path)?.description == directory)
    }

    @Test("finds the description in the directory")
    func description() throws {
        let directory = try #require(RelativePath("a/b"))
        #expect(SourcePlaces.description(of: directory).description == "a/b/source.toml")
        #expect(SourcePlaces.directory(of: SourcePlaces.description(of: directory)) == directory)
    }
}

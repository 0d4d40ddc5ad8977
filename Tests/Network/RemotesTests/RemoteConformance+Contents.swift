import Testing
import UploadCore

@testable import Remotes

// What must hold for names and for contents of earlier runs.
extension RemoteConformance {
    /// Names that are legal on Linux and awkward elsewhere.
    static let oddNames: [[UInt8]] =
        [
            "a b.jpg", "a,b;c=d.jpg", "\"quoted\".jpg", "100%.jpg", "..jpg", "é\u{301}🏖.jpg", "a\nb.jpg", "?#&.jpg",
            "\\.jpg",
        ]
        .map { Array($0.utf8) } + [[0xFF, 0xFE, 0x2E, 0x6A], Array(repeating: 0x61, count: 255)]

    /// Uploads a content under a name, and checks that the server has its bytes.
    func takesAnyName(_ name: [UInt8]) async throws {
        let content = try content()
        var description = content.description
        guard let path = RelativePath(Array("tr ip/".utf8) + name) else { throw Unexpected("no path") }
        description.path = path
        guard case .success(.registered(let id, _)) = await remote.register([description]).first else {
            throw Unexpected("no id")
        }
        let upload = content.upload(id, receipts: try await sendAll(content, id: id))
        guard case .confirmed = try await finish(upload) else { throw Unexpected("not confirmed") }
        #expect(server.holds(content))
    }

    /// A later run asks about a confirmed content, and about one that the server never had.
    func provesAContent() async throws {
        let content = try content()
        let id = try await register(content)
        let upload = content.upload(id, receipts: try await sendAll(content, id: id))
        guard case .confirmed(let object) = try await finish(upload) else { throw Unexpected("not confirmed") }
        let known = content.upload(RemoteHandle(id: object.id ?? id.id))
        guard case .success(.confirmed) = await remote.prove([known]).first else { throw Unexpected("no proof") }
        let other = try self.content(2)
        let lost = try await register(other)
        server.forgetEverything()
        #expect(await remote.prove([other.upload(lost)]) == [.failure(.forgotten)])
    }
}

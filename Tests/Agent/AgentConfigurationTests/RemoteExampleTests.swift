import Foundation
import TestSupport
import Testing

@testable import AgentConfiguration

@Suite struct RemoteExampleTests {
    static let names =
        (try? FileManager.default.contentsOfDirectory(atPath: Repository.path("examples/remotes")))?.sorted() ?? []

    @Test func `there are examples`() {
        #expect(Self.names.count > 5)
    }

    @Test(arguments: names) func `an example is valid and says whether it was tried`(name: String) throws {
        let text = try Repository.text("examples/remotes/\(name)")
        #expect(refusals(text) == [])
        #expect(text.hasPrefix("# Tried: ") || text.hasPrefix("# Not tried: "))
        let isListed = try Repository.text("docs/remotes.md").contains("(../examples/remotes/\(name))")
        #expect(isListed, "name examples/remotes/\(name) in the table of docs/remotes.md")
    }
}

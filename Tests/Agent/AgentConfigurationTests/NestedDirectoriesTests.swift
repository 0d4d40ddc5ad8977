import Foundation
import TestSupport
import Testing

@testable import AgentConfiguration

@Suite("Nested directories")
struct NestedDirectoriesTests {
    private let place: TemporaryDirectory
    private var configuration: Configuration

    init() throws {
        place = try TemporaryDirectory()
        configuration = Configuration(home: place.path("home"))
        configuration.outbox = place.path("box")
        try make("box/deep")
        try make("home")
        // A second path to the outbox.
        try FileManager.default.createSymbolicLink(atPath: place.path("link"), withDestinationPath: place.path("box"))
    }

    @Test("are not reported if all are separate, existing or not")
    func apart() throws {
        #expect(configuration.nestingRefusal() == nil)
        var neighbours = configuration
        neighbours.state = place.path("box-state")
        neighbours.remote.tokenFile = place.path("missing/token")
        try make("box-state")
        #expect(neighbours.nestingRefusal() == nil)
    }

    @Test(
        "are refused if a symbolic link leads into the outbox, even to a missing path",
        arguments: ["link", "link/deep", "link/new/state"])
    func intoTheOutbox(path: String) throws {
        for key in ["state", "avatars", "sidecars.directory", "remote.token_file"] {
            var nested = configuration
            switch key {
            case "state": nested.state = place.path(path)
            case "avatars": nested.avatars = place.path(path)
            case "sidecars.directory": nested.sidecars.directory = place.path(path)
            default: nested.remote.tokenFile = place.path(path)
            }
            let refusal = try #require(nested.nestingRefusal())
            #expect(refusal.hasPrefix("\(key) (") && refusal.contains(place.path("box")), "\(refusal)")
        }
    }

    @Test("are refused if the token file itself is a symbolic link into the outbox")
    func tokenLink() throws {
        try Data("token".utf8).write(to: URL(fileURLWithPath: place.path("box/deep/token")))
        try FileManager.default.createSymbolicLink(
            atPath: place.path("token"), withDestinationPath: place.path("box/deep/token"))
        var nested = configuration
        nested.remote.tokenFile = place.path("token")
        #expect(nested.nestingRefusal()?.contains("remote.token_file") == true)
    }

    @Test("are refused if they contain the outbox")
    func aroundTheOutbox() throws {
        try make("state/thumbnails")
        try FileManager.default.createSymbolicLink(
            atPath: place.path("pictures"), withDestinationPath: place.path("state/thumbnails"))
        var nested = configuration
        nested.outbox = place.path("pictures")
        nested.state = place.path("state")
        #expect(nested.nestingRefusal()?.hasPrefix("outbox (") == true)
    }

    private func make(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: place.path(name), withIntermediateDirectories: true)
    }
}

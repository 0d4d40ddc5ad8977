import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import Intake

@Suite("The agent's private directories")
struct PrivateDirectoriesTests {
    private let place: TemporaryDirectory

    init() throws { place = try TemporaryDirectory() }

    @Test("are recognised anywhere, also after a move or a recreation")
    func privateDirectories() throws {
        try make("state/thumbnails")
        try make("box/deep")
        let own = PrivateDirectories(state: place.path("state"), others: [place.path("avatars")])
        try make("avatars")
        for name in ["state", "state/thumbnails", "avatars"] {
            #expect(own.contains(try FileStatus(path: place.path(name))), "\(name)")
        }
        #expect(!own.contains(try FileStatus(path: place.path("box"))))
        #expect(!own.contains(try FileStatus(path: place.path("box/deep"))))
        #expect(rename(place.path("state"), place.path("box/moved")) == 0)
        #expect(own.contains(try FileStatus(path: place.path("box/moved"))))
    }

    private func make(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: place.path(name), withIntermediateDirectories: true)
    }
}

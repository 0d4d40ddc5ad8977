@testable import LinuxSystem
import Testing

@testable import SystemdService

@Suite("The name of a service")
struct ServiceNameTests {
    private static let usual = "/home/ann/.config/outbox/agent.toml"
    private static let ann = ServiceScope.system(
        ServiceAccount(name: "ann", userID: 1000, groupID: 1000, home: "/home/ann"))

    private func name(_ file: String?, _ scope: ServiceScope = .user) -> String {
        ServiceName.name(file: file, userFile: Self.usual, scope: scope)
    }

    @Test("is outbox for the default configuration")
    func place() {
        #expect(name(nil) == "outbox")
        #expect(name(Self.usual) == "outbox")
        #expect(name("/etc/outbox/agent.toml", Self.ann) == "outbox")
    }

    @Test("contains the user for a system unit of the user's own configuration")
    func own() {
        #expect(name(Self.usual, Self.ann) == "outbox-ann")
        #expect(name(nil, Self.ann) == "outbox-ann")
    }

    @Test(
        "names other configurations by file or directory",
        arguments: [
            ("/srv/camera.toml", "outbox-camera-"), ("/srv/camera/agent.toml", "outbox-camera-"),
            ("/srv/My Shop (2).toml", "outbox-My-Shop-2-"), ("/agent.toml", "outbox-agent-"),
            ("/srv/ünï.toml", "outbox-n-"), ("/srv/….toml", "outbox-agent-"),
        ])
    func others(file: String, start: String) {
        let found = name(file)
        #expect(found.hasPrefix(start))
        #expect(found.count == start.count + 8)
        #expect(found.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
    }

    @Test("never changes between versions")
    func stable() {
        #expect(name("/srv/camera.toml") == "outbox-camera-ae1e0102")
    }

    @Test("differs for files of the same name, and for another user's default file")
    func collisions() {
        let files = [
            "/srv/a/agent.toml", "/srv/b/a/agent.toml", "/srv/a.toml", "/etc/outbox/agent.toml",
            "/home/bob/.config/outbox/agent.toml", Self.usual,
        ]
        #expect(Set(files.map { name($0) }).count == files.count)
        #expect(Set(files.map { name($0, Self.ann) }).count == files.count)
    }

    @Test("is the same for two spellings of a path")
    func spellings() {
        #expect(ServiceName.absolute("../a.toml", in: "/srv/x") == "/srv/a.toml")
        #expect(ServiceName.absolute("/srv//./a.toml", in: "/") == "/srv/a.toml")
    }
}

import Foundation
import Glibc
import TestSupport
import Testing

@testable import AgentConfiguration

@Suite struct ConfigurationLoaderTests {
    private let directory: TemporaryDirectory
    private let home: String
    private let work: String

    init() throws {
        directory = try TemporaryDirectory()
        home = directory.path("home")
        work = directory.path("work")
        for path in [home, work] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
    }

    private func write(_ text: String, to path: String) throws {
        let url = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    private func loader(_ environment: [String: String] = [:]) -> ConfigurationLoader {
        ConfigurationLoader(
            home: home, currentDirectory: work, environment: environment, systemDirectory: directory.path("etc"))
    }

    @Test func `each place is looked at in turn`() throws {
        let places = [
            directory.path("etc/agent.toml"), home + "/.config/outbox/agent.toml", work + "/agent.toml",
            directory.path("variable.toml"), directory.path("option.toml"),
        ]
        let variable = ["OUTBOX_CONFIG": directory.path("variable.toml")]
        for (number, place) in places.enumerated() {
            try write("upload.files_in_flight = \(number + 1)", to: place)
            let loader = loader(number >= 3 ? variable : [:])
            let effective = try loader.load(named: number == 4 ? "../option.toml" : nil)
            #expect(effective.configuration.upload.filesInFlight == number + 1)
            #expect(effective.file == place)
        }
    }

    @Test func `a configuration of one's own that the working directory shadows is named`() throws {
        let own = home + "/.config/outbox/agent.toml"
        try write("", to: own)
        #expect(try loader().load().notices.isEmpty)
        try write("", to: work + "/agent.toml")
        #expect(
            try loader().load().notices == [
                "\(work)/agent.toml is in use, so the agent ignores \(own); choose a file with --config"
            ])
        #expect(try loader().load(named: "agent.toml").notices.isEmpty)
        #expect(try loader(["XDG_CONFIG_HOME": "/no/such"]).load().notices.isEmpty)
    }

    @Test func `the unchanged reference in the working directory is warned of, unless it is named`() throws {
        let reference = try Repository.text("agent.toml")
        try write(reference, to: work + "/agent.toml")
        let notices = try loader().load().notices
        #expect(notices.count == 1)
        #expect(notices.first?.hasPrefix("\(work)/agent.toml is in use because it lies in the working") == true)
        #expect(notices.first?.contains("unchanged reference") == true)
        #expect(notices.first?.hasSuffix("write the keys you need into \(home)/.config/outbox/agent.toml") == true)
        #expect(try loader(["OUTBOX_UPLOAD_FILES_IN_FLIGHT": "2"]).load().notices == notices)
        #expect(try loader().load(named: "agent.toml").notices.isEmpty)

        try write(reference.replacing("\"~/Outbox\"", with: "\"~/Box\""), to: work + "/agent.toml")
        #expect(try loader().load().notices.isEmpty, "a changed copy is the user's")
    }

    @Test func `credentials of the service manager stand behind the file and the environment`() throws {
        let credentials = directory.path("credentials")
        try write("secret", to: credentials + "/outbox.token")
        let environment = ["CREDENTIALS_DIRECTORY": credentials]
        let effective = try loader(environment).load()
        #expect(effective.configuration.remote.tokenFile == credentials + "/outbox.token")
        let setting = effective.settings.first { $0.key == "remote.token_file" }
        #expect(setting?.origin == .environment("CREDENTIALS_DIRECTORY"))
        #expect(effective.configuration.remote.accessKeyFile == nil, "there is no such credential")

        let variable = environment.merging(["OUTBOX_REMOTE_TOKEN_FILE": "/variable"]) { $1 }
        #expect(try loader(variable).load().configuration.remote.tokenFile == "/variable")
        try write("remote.token_file = \"/file\"", to: directory.path("named.toml"))
        let named = try loader(environment).load(named: directory.path("named.toml"))
        #expect(named.configuration.remote.tokenFile == "/file")
        #expect(try loader(["CREDENTIALS_DIRECTORY": "credentials"]).load().configuration.remote.tokenFile == nil)
    }

    @Test func `without a file the defaults apply`() throws {
        let effective = try loader().load()
        #expect(effective.file == nil)
        #expect(effective.configuration == Configuration(home: home))
        #expect(effective.settings.allSatisfy { $0.origin == .default })
    }

    @Test func `XDG_CONFIG_HOME counts if it is absolute`() throws {
        try write("upload.files_in_flight = 9", to: directory.path("xdg/outbox/agent.toml"))
        let absolute = try loader(["XDG_CONFIG_HOME": directory.path("xdg")]).load()
        #expect(absolute.configuration.upload.filesInFlight == 9)
        #expect(try loader(["XDG_CONFIG_HOME": "../xdg"]).load().file == nil)
    }

    @Test func `relative paths start at the file that holds them`() throws {
        try write("outbox = \"in\"", to: directory.path("conf/agent.toml"))
        #expect(try loader().load(named: "../conf/agent.toml").configuration.outbox == directory.path("conf/in"))
    }

    @Test func `a named file that does not exist is an error`() {
        let option = #expect(throws: ConfigurationErrors.self) { try loader().load(named: "no.toml") }
        #expect(option?.description == "no.toml: no such file, but --config names it; create it or name another")
        #expect(option?.first.kind == .file)
        let variable = #expect(throws: ConfigurationErrors.self) { try loader(["OUTBOX_CONFIG": "/no/such"]).load() }
        #expect(
            variable?.description == "/no/such: no such file, but OUTBOX_CONFIG names it; create it or name another")
    }

    @Test func `a file that cannot be read is an error, not passed over`() throws {
        try FileManager.default.createDirectory(atPath: work + "/agent.toml", withIntermediateDirectories: true)
        let errors = #expect(throws: ConfigurationErrors.self) { try loader().load() }
        #expect(errors?.description == "agent.toml: cannot be read: Is a directory; name a file")
    }

    @Test(.enabled(if: getuid() != 0, "root reads everything"))
    func `a file that may not be read says what to check`() throws {
        try write("outbox = \"in\"", to: work + "/agent.toml")
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: work + "/agent.toml")
        let errors = #expect(throws: ConfigurationErrors.self) { try loader().load() }
        #expect(
            errors?.description
                == "agent.toml: cannot be read: Permission denied; check its permissions and those of the "
                + "directories above")
    }

    @Test(
        arguments: [
            (owner: UInt32(1000), name: UInt32(1000), mode: UInt32(0o644), shared: true, refused: nil as String?),
            (0, 0, 0o644, true, nil), (1000, 1000, 0o664, false, nil), (1000, 0, 0o600, true, nil),
            (1000, 1000, 0o664, true, "can be written to by others (mode 0664)"),
            (1000, 1000, 0o646, false, "can be written to by others (mode 0646)"),
            (0, 0, 0o666, true, "can be written to by others (mode 0666)"),
            (4_000_000, 4_000_000, 0o600, true, "belongs to user id 4000000"),
            (1000, 4_000_000, 0o600, true, "belongs to user id 4000000"),
        ] as [(UInt32, UInt32, UInt32, Bool, String?)])
    func `a file is believed where nobody but its user and root can have written it`(
        owner: UInt32, name: UInt32, mode: UInt32, shared: Bool, refused: String?
    ) {
        let trust = FileTrust(owner: owner, nameOwner: name, permissions: mode, isGroupShared: shared)
        let objection = trust.objection(user: 1000, name: "agent.toml")
        #expect((objection == nil) == (refused == nil))
        #expect(objection?.hasPrefix(refused ?? "") ?? true)
    }

    @Test(.enabled(if: getuid() == 0, "needs root to give a file away"))
    func `a file of another user in the working directory is refused, and taken where it is named`() throws {
        try write("remote.url = \"http://127.0.0.1:1\"", to: work + "/agent.toml")
        #expect(chown(work + "/agent.toml", 4_000_000, 4_000_000) == 0)
        let errors = #expect(throws: ConfigurationErrors.self) { try loader().load() }
        #expect(errors?.description.hasPrefix("agent.toml: belongs to user id 4000000, so it is not used") == true)
        #expect(errors?.description.contains("--config agent.toml") == true)
        #expect(try loader().load(named: "agent.toml").configuration.remote.url == "http://127.0.0.1:1")
        #expect(try loader(["OUTBOX_CONFIG": "agent.toml"]).load().file == work + "/agent.toml")
    }

    @Test(.enabled(if: getuid() == 0, "needs root to give a link away"))
    func `a link of another user to a file of one's own is refused`() throws {
        try write("", to: directory.path("mine.toml"))
        try FileManager.default.createSymbolicLink(
            atPath: work + "/agent.toml", withDestinationPath: directory.path("mine.toml"))
        #expect(try loader().load().file == work + "/agent.toml")
        #expect(lchown(work + "/agent.toml", 4_000_000, 4_000_000) == 0)
        #expect(throws: ConfigurationErrors.self) { try loader().load() }
    }

    @Test func `a file that others can write to is refused in the working directory alone`() throws {
        for path in [work + "/agent.toml", home + "/.config/outbox/agent.toml"] {
            try write("", to: path)
            #expect(chmod(path, 0o666) == 0)
        }
        let errors = #expect(throws: ConfigurationErrors.self) { try loader().load() }
        #expect(
            errors?.description.hasPrefix("agent.toml: can be written to by others (mode 0666), so it is not used")
                == true)
        #expect(unlink(work + "/agent.toml") == 0)
        #expect(try loader().load().file == home + "/.config/outbox/agent.toml")
    }

    @Test(.enabled(if: getuid() == 0, "needs root to give a file away"))
    func `a FIFO of another user in the working directory holds nothing up`() {
        #expect(mkfifo(work + "/agent.toml", 0o644) == 0)
        #expect(chown(work + "/agent.toml", 4_000_000, 4_000_000) == 0)
        #expect(throws: ConfigurationErrors.self) { try loader().load() }
    }

    @Test func `an error names the file as it was named`() throws {
        try write("[upload]\nfiles_in_flihgt = 1", to: work + "/agent.toml")
        let errors = #expect(throws: ConfigurationErrors.self) { try loader().load() }
        #expect(
            errors?.description
                == "agent.toml:2: upload.files_in_flihgt: unknown key; did you mean \"files_in_flight\"?")
    }
}

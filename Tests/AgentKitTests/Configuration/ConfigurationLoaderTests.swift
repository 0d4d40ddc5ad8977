import Foundation
import Glibc
import TestSupport
import Testing

@testable import AgentKit

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

    @Test func `an error names the file as it was named`() throws {
        try write("[upload]\nfiles_in_flihgt = 1", to: work + "/agent.toml")
        let errors = #expect(throws: ConfigurationErrors.self) { try loader().load() }
        #expect(
            errors?.description
                == "agent.toml:2: upload.files_in_flihgt: unknown key; did you mean \"files_in_flight\"?")
    }
}

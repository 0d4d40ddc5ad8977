import Foundation
import Remotes
import TestSupport
import Testing

@testable import AgentConfiguration
@testable import Session

@Suite("Credentials")
struct CredentialsTests {
    private let place: TemporaryDirectory

    init() throws {
        place = try TemporaryDirectory()
    }

    @Test("come from the environment, else the configured file, else the stored login")
    func order() throws {
        let environment = Credentials(
            environmentToken: "env", tokenFile: place.path("file"), stateDirectory: place.path)
        let configured = Credentials(environmentToken: nil, tokenFile: place.path("file"), stateDirectory: place.path)
        #expect(configured.bearerToken() == nil)
        try write("token", "stored")
        #expect(configured.bearerToken() == "stored")
        try write("file", "configured")
        #expect(configured.bearerToken() == "configured")
        #expect(environment.bearerToken() == "env")
    }

    @Test(
        "are not sent over plain http to another machine",
        arguments: [
            ("http://server/files", false, false), ("http://server/files", true, true),
            ("https://server/files", false, true), ("http://127.0.0.1/files", false, true),
        ])
    func travel(url: String, isInsecureAllowed: Bool, isSent: Bool) throws {
        var configuration = Configuration(home: place.path)
        configuration.remote.protocol = .tus
        configuration.remote.url = url
        configuration.remote.insecureHTTP = isInsecureAllowed
        let credentials = Credentials(configuration, environment: ["OUTBOX_TOKEN": "sesame"])
        #expect(credentials.bearerToken() == "sesame")
        #expect(credentials.credential() == (isSent ? .bearer("sesame") : nil))
    }

    @Test("change with their file")
    func change() throws {
        let credentials = Credentials(environmentToken: nil, tokenFile: nil, stateDirectory: place.path)
        try write("token", "one")
        #expect(credentials.bearerToken() == "one")
        try write("token", "two")
        #expect(credentials.bearerToken() == "two")
        try FileManager.default.removeItem(atPath: place.path("token"))
        #expect(credentials.bearerToken() == nil)
    }

    @Test(
        "are the first line without white space around it",
        arguments: [
            ("abc", "abc"), ("abc\n", "abc"), ("abc\r\n", "abc"), ("  abc \t\n", "abc"), ("abc\nsecond", "abc"),
            ("abc\r\nsecond", "abc"), ("", nil), ("\nabc", nil), ("  \n", nil), ("a b", nil), ("a\u{1}b", nil),
            ("é", nil), ("a\u{0}b", nil),
            (String(repeating: "a", count: 20_000), nil),
        ] as [(String, String?)])
    func lines(text: String, token: String?) throws {
        try write("token", text)
        let credentials = Credentials(environmentToken: nil, tokenFile: nil, stateDirectory: place.path)
        #expect(credentials.bearerToken() == token)
        #expect(Credentials(environmentToken: text, tokenFile: nil, stateDirectory: "/none").bearerToken() == token)
    }

    @Test("are missing if the file is malformed or not regular")
    func junk() throws {
        try Data([0xFF, 0xFE, 0x41]).write(to: URL(fileURLWithPath: place.path("token")))
        let credentials = Credentials(environmentToken: nil, tokenFile: nil, stateDirectory: place.path)
        #expect(credentials.bearerToken() == nil)
        try FileManager.default.removeItem(atPath: place.path("token"))
        #expect(mkfifo(place.path("token"), 0o600) == 0)
        #expect(credentials.bearerToken() == nil)
    }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: place.path(name)))
    }
}

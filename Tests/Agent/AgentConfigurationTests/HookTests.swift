import Testing

@testable import AgentConfiguration

struct HookTests {
    private func hooks(_ text: String) throws -> [Configuration.Hook] {
        let loader = ConfigurationLoader(home: "/home/ann", currentDirectory: "/work", environment: [:])
        return try loader.load(text: Array(text.utf8), file: "/etc/outbox/agent.toml").configuration.hooks
    }

    @Test func `a hook has defaults, and its paths begin at the home or at the file`() throws {
        let found = try hooks(
            """
            [[hook]]
            name = "publish"
            run = ["~/bin/publish", "--now"]
            [[hook]]
            name = "tell"
            on = ["failed", "trouble"]
            post = "https://example.org/in?key=1"
            secret_file = "secret"
            batch = "500/10s"
            timeout = "5s"
            keep = "1d"
            """)
        var publish = Configuration.Hook(name: "publish", call: .run(["/home/ann/bin/publish", "--now"]))
        publish.events = [.done, .failed]
        #expect(found.first == publish)
        var tell = Configuration.Hook(
            name: "tell", call: .post("https://example.org/in?key=1", secretFile: "/etc/outbox/secret"))
        (tell.events, tell.batch, tell.window) = ([.failed, .trouble], 500, .seconds(10))
        (tell.timeout, tell.keep) = (.seconds(5), .seconds(86_400))
        #expect(found.last == tell)
    }

    @Test(arguments: [
        ("name = \"a\"", "a hook needs `run` or `post`"), ("run = [\"/bin/true\"]", "every hook needs a name"),
        ("name = \"a\"\nrun = \"/bin/true\"", "must be a program and its arguments"),
        ("name = \"a\"\nrun = [\"/bin/true\"]\npost = \"https://e.org\"", "not both"),
        ("name = \"a\"\npost = \"ftp://e.org\"", "must begin with http:// or https://"),
        ("name = \"a\"\nrun = [\"/bin/true\"]\non = [\"finished\"]", "\"finished\" is none of done, failed"),
        ("name = \"a\"\nrun = [\"/bin/true\"]\nbatch = \"many\"", "must be \"1\", or a number and a time"),
        ("name = \"a\"\nrun = [\"/bin/true\"]\ntimeuot = \"1s\"", "did you mean \"timeout\"?"),
        (
            "name = \"a\"\nrun = [\"/bin/true\"]\n[[hook]]\nname = \"a\"\nrun = [\"/bin/true\"]",
            "two hooks have the name a"
        ),
    ])
    func `a mistake in a hook is named`(text: String, reason: String) {
        let errors = #expect(throws: ConfigurationErrors.self) { try hooks("[[hook]]\n" + text) }
        #expect(errors.map { "\($0)".contains(reason) } == true, "\(errors.map { "\($0)" } ?? "none")")
    }
}

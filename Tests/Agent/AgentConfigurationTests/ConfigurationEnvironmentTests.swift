import Text
import PictureJobs
import Testing

@testable import AgentConfiguration

@Suite struct ConfigurationEnvironmentTests {
    @Test func `variables go before the file`() throws {
        let effective = try load(
            "[upload]\nfiles_in_flight = 3\n",
            environment: [
                "OUTBOX_UPLOAD_FILES_IN_FLIGHT": "2", "OUTBOX_STATE": "state",
                "OUTBOX_REMOTE_URL": "https://a.example/",
                "OUTBOX_MEDIA_JPEG_QUALITY": "0.5", "OUTBOX_INTAKE_MEDIA_ONLY": "false",
            ])
        #expect(effective.configuration.upload.filesInFlight == 2)
        #expect(effective.configuration.state == "/work/state", "relative to the current directory")
        #expect(effective.configuration.remote.url == "https://a.example")
        #expect(effective.configuration.media.jpegQuality == 0.5)
        #expect(!effective.configuration.intake.mediaOnly)
    }

    @Test(arguments: ConfigurationKey.all.map(\.path))
    func `every key has a variable that takes what the key shows`(path: String) throws {
        let key = try #require(ConfigurationKey.all.first { $0.path == path })
        let value = key.show(Configuration(home: "/home/ann"))
        let text = if case .string(let text) = value { text } else { value.description }
        let effective = try load("", environment: [key.variable: text])
        #expect(effective.settings.first { $0.key == path }?.origin == .environment(key.variable))
        #expect(effective.configuration == Configuration(home: "/home/ann"))
    }

    @Test(arguments: [("8", 8), ("auto", nil)] as [(String, Int?)])
    func `the number of fragments in flight is an integer or automatic`(text: String, number: Int?) throws {
        let environment = ["OUTBOX_UPLOAD_FRAGMENTS_IN_FLIGHT": text]
        let byVariable = try load("upload.fragments_in_flight = 3", environment: environment).configuration
        #expect(byVariable.upload.fragmentsInFlight == number)
        let byFile = try load("upload.fragments_in_flight = \(number.map { "\($0)" } ?? "\"auto\"")").configuration
        #expect(byFile.upload.fragmentsInFlight == number)
    }

    @Test(arguments: [
        ("*.tmp,*.bak", ["*.tmp", "*.bak"]), ("*.tmp *.bak", ["*.tmp", "*.bak"]), (#"["a b", "c,d"]"#, ["a b", "c,d"]),
        ("[ab]*", ["[ab]*"]), ("[ab]", ["[ab]"]), ("", []), ("[]", []),
    ])
    func `a list is an array or words`(text: String, patterns: [String]) throws {
        let configuration = try load("", environment: ["OUTBOX_INTAKE_IGNORE": text]).configuration
        #expect(configuration.intake.ignore.map(\.description) == patterns)
    }

    @Test func `a style can be named by a variable`() throws {
        let environment = ["OUTBOX_AVATAR_STYLES_LIST": "rect:96x96 round:96x96,r=48,b=2"]
        let styles = try load("", environment: environment).configuration.avatarStyles
        #expect(styles["list"]?.map(\.description) == ["rect:96x96", "round:96x96,r=48,b=2"])
    }

    @Test(arguments: [
        ("OUTBOX_UPLOAD_FILES_IN_FLIGHT", "many", "upload.files_in_flight: must be an integer, is \"many\""),
        ("OUTBOX_UPLOAD_FILES_IN_FLIGHT", "0", "upload.files_in_flight: must be 1 … 64, is 0"),
        ("OUTBOX_UPLOAD_FILES_IN_FLIGHT", "auto", "upload.files_in_flight: must be an integer, is \"auto\""),
        (
            "OUTBOX_UPLOAD_FRAGMENTS_IN_FLIGHT", "many",
            "upload.fragments_in_flight: must be an integer or \"auto\", is \"many\""
        ),
        ("OUTBOX_INTAKE_MEDIA_ONLY", "yes", "intake.media_only: must be true or false, is \"yes\""),
        ("OUTBOX_MEDIA_JPEG_QUALITY", "", "media.jpeg_quality: must be a number, is \"\""),
        ("OUTBOX_INTAKE_SETTLE", "1w", "intake.settle: must be a duration"),
        ("OUTBOX_AVATAR_STYLES_LIST", "oval", "avatar_styles.list[0]: \"oval\" is not a step"),
    ])
    func `a bad variable is named`(variable: String, text: String, message: String) {
        let answer = refusal("upload.files_in_flight = 3", environment: [variable: text])
        #expect(answer?.hasPrefix("environment \(variable): \(message)") == true, "\(answer ?? "none")")
    }

    @Test func `a misspelt variable is a warning, those of others are not`() throws {
        let environment = [
            "OUTBOX_UPLOAD_FILES_IN_FLIGTH": "2", "OUTBOX_TOKEN": "t", "OUTBOX_RECEIVER_TOKENS": "t",
            "OUTBOX_CONFIG": "",
        ]
        #expect(
            try load("", environment: environment).warnings == [
                "environment OUTBOX_UPLOAD_FILES_IN_FLIGTH: no such setting, ignored; did you mean OUTBOX_UPLOAD_FILES_IN_FLIGHT?"
            ])
    }
}

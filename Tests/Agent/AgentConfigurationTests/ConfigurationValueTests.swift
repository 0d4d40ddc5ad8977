import PictureJobs
import Testing
import UploadCore

@testable import AgentConfiguration

@Suite struct ConfigurationValueTests {
    @Test func `a template of S3 keys comes with the remark that one content has one object`() throws {
        let s3 = "remote.protocol = \"s3\"\nremote.url = \"https://s3.example.org\"\nremote.bucket = \"b\"\n"
        #expect(try load(s3).remarksOnSettings.isEmpty)
        let remarks = try load(s3 + "remote.key = \"{prefix}{path}\"\n").remarksOnSettings
        #expect(remarks.count == 1 && remarks[0].contains("one object"), "\(remarks)")
    }

    @Test func `localhost over plain http may be another user's program`() throws {
        #expect(try load("remote.url = \"http://localhost:8787\"\n").remarksOnSettings.count == 1)
        for url in ["http://127.0.0.1:8787", "https://localhost:8787", "http://[::1]:8787"] {
            #expect(try load("remote.url = \"\(url)\"\n").remarksOnSettings.isEmpty, "\(url)")
        }
    }

    @Test func `every type of value is read`() throws {
        let configuration = try load(
            """
            outbox = "/srv/in"
            intake.settle = "1s"
            intake.after_upload = "move"
            media = { jpeg_quality = 1, strip_location = true }
            [upload]
            files_in_flight = 64
            bandwidth_limit = "2MiB"
            file_timeout = "1h"
            [avatar_cache]
            allowed_hosts = ["IMG.example.org", "*.Example.org", "2001:DB8::1", "[::1]"]
            max_size = 1000
            [avatar_styles]
            list = ["rect:96x96", "round:96x96,r=48,b=2"]
            [log]
            level = "debug"
            """
        ).configuration
        #expect(configuration.outbox == "/srv/in")
        #expect(configuration.intake.settle == .seconds(1))
        #expect(configuration.intake.afterUpload == .move)
        #expect(configuration.media.jpegQuality == 1)
        #expect(configuration.media.stripLocation)
        #expect(configuration.upload.filesInFlight == 64)
        #expect(configuration.upload.bandwidthLimit == 2 << 20)
        #expect(configuration.upload.fileTimeout == .seconds(3600))
        #expect(
            configuration.avatarCache.allowedHosts
                == ["img.example.org", "*.example.org", "[2001:db8::1]", "[::1]"])
        #expect(configuration.avatarCache.maxSize == 1000)
        #expect(
            configuration.avatarStyles["list"]
                == [.rect(width: 96, height: 96), .round(width: 96, height: 96, radius: 48, border: 2)])
        #expect(configuration.log.level == .debug)
    }

    @Test(arguments: [
        ("outbox = 1", "1: outbox: must be a string, is an integer"),
        ("outbox = \"\"", "1: outbox: must not be empty"),
        ("outbox = \"~bob/Outbox\"", "1: outbox: ~ means"),
        ("intake.settle = \"250\"", "1: intake.settle: must be a duration such as"),
        ("intake.settle = 250", "1: intake.settle: must be a duration such as"),
        ("intake.settle = \"-1s\"", "1: intake.settle: must be a duration such as"),
        ("intake.settle = true", "1: intake.settle: must be a duration such as \"30s\", is a boolean"),
        ("intake.rescan = \"0\"", "1: intake.rescan: must be 1s … 1d, is \"0\""),
        ("intake.rescan = \"99999999999999999999d\"", "1: intake.rescan: must be a duration"),
        ("intake.media_only = 1", "1: intake.media_only: must be true or false, is an integer"),
        ("intake.ignore = \"*.tmp\"", "1: intake.ignore: must be an array of strings, is a string"),
        ("intake.ignore = [\"[a\"]", "1: intake.ignore[0]: \"[a\" is not a pattern"),
        ("intake.ignore = [\"*\", 2]", "1: intake.ignore[1]: must be a string, is an integer"),
        ("intake.max_file_size = \"64 GiB\"", "1: intake.max_file_size: must be a size such as"),
        ("intake.max_file_size = \"16777216TiB\"", "1: intake.max_file_size: must be a size such as"),
        (
            "intake.after_upload = \"mvoe\"",
            "1: intake.after_upload: must be one of \"keep\", \"move\", \"delete\", is \"mvoe\"; did you mean \"move\"?"
        ),
        ("intake.move_to = \"/Sent\"", "1: intake.move_to: must be relative to the outbox"),
        ("intake.move_to = \"a/../..\"", "1: intake.move_to: must stay inside the outbox"),
        ("intake.move_to = \".sent\"", "1: intake.move_to: must not be a hidden directory"),
        ("intake.move_to = \".\"", "1: intake.move_to: must name a directory inside the outbox"),
        ("media.jpeg_quality = 0", "1: media.jpeg_quality: must be above 0 and at most 1, is 0"),
        ("media.jpeg_quality = 1.01", "1: media.jpeg_quality: must be above 0 and at most 1, is 1.01"),
        ("media.jpeg_quality = nan", "1: media.jpeg_quality: must be above 0 and at most 1, is nan"),
        ("media.jpeg_quality = \"high\"", "1: media.jpeg_quality: must be a number, is a string"),
        ("upload.files_in_flight = 0", "1: upload.files_in_flight: must be 1 … 64, is 0"),
        ("upload.files_in_flight = 65", "1: upload.files_in_flight: must be 1 … 64, is 65"),
        ("upload.files_in_flight = 5.0", "1: upload.files_in_flight: must be an integer, is a number"),
        ("upload.files_in_flight = 1979-05-27", "1: upload.files_in_flight: must be an integer, is a date"),
        (
            "upload.fragments_in_flight = \"many\"",
            "1: upload.fragments_in_flight: must be an integer or \"auto\", is \"many\""
        ),
        ("upload.fragments_in_flight = 0", "1: upload.fragments_in_flight: must be 1 … 64, is 0"),
        ("upload.bandwidth_limit = \"10B\"", "1: upload.bandwidth_limit: must be at least 1KiB, is"),
        (
            "remote.protocol = \"ftp\"",
            "1: remote.protocol: must be one of \"filesection\", \"tus\", \"s3\", is \"ftp\""
        ),
        ("remote.url = \"example.org\"", "1: remote.url: must begin with http:// or https://"),
        ("remote.url = \"ftp://example.org\"", "1: remote.url: must begin with http:// or https://"),
        ("remote.url = \"http://\"", "1: remote.url: names no host"),
        ("remote.url = \"http://:80/\"", "1: remote.url: names no host"),
        ("remote.url = \"http://a:99999\"", "1: remote.url: names a port outside 1 … 65535"),
        ("remote.url = \"http://a:b\"", "1: remote.url: names a port outside 1 … 65535"),
        ("remote.url = \"http://{key}/\"", "1: remote.url: holds characters that a URL cannot"),
        ("remote.url = \"http://a/{name}\"", "1: remote.url: holds characters that a URL cannot"),
        ("remote.url = \"http://a/{key}\"", "1: remote.url: {key} and {ext} have a meaning with protocol \"tus\" only"),
        ("remote.url = \"http://a b\"", "1: remote.url: holds characters that a URL cannot"),
        ("remote.url = \"http://a/?b\"", "1: remote.url: must end before any ? or #"),
        ("avatar_cache.allowed_hosts = [\"http://a\"]", "1: avatar_cache.allowed_hosts[0]: \"http://a\" is not a host"),
        ("avatar_cache.allowed_hosts = [\"127.1\"]", "1: avatar_cache.allowed_hosts[0]: \"127.1\" is not a host"),
        ("avatar_styles.list = [\"oval:1x1\"]", "1: avatar_styles.list[0]: \"oval:1x1\" is not a step"),
        ("avatar_styles.list = []", "1: avatar_styles.list: must have 1 … 16 steps"),
        ("avatar_styles.\"a/b\" = [\"original\"]", "1: avatar_styles.\"a/b\": cannot be the name of a style"),
        (
            "control.dashboard = \"0.0.0.0:8788\"",
            "1: control.dashboard: must be a loopback address such as \"127.0.0.1:8788\""
        ),
        ("control.dashboard = \"127.0.0.1.evil.org:1\"", "1: control.dashboard: must be a loopback address"),
        ("control.dashboard = \"127.0.0.1\"", "1: control.dashboard: must be an address and a port"),
        ("upload = 3", "1: upload: is a table; write [upload] on a line of its own"),
        ("[[upload]]", "1: upload: is a table; write [upload] on a line of its own"),
        ("[outbox]", "1: outbox: must be a string, is a table"),
        ("a = ", "1: is not TOML: Error while parsing"),
        (
            "[remote]\nurl = https://a.example/#x  # here",
            "2: is not TOML: a string must be in quotes: write url = \"https://a.example/#x\""
        ),
        ("outbox = ~/My Outbox", "1: is not TOML: a string must be in quotes: write outbox = \"~/My Outbox\""),
        ("[intake]\nsettle = 250ms", "2: is not TOML: a string must be in quotes: write settle = \"250ms\""),
        ("protocol = filesection", "1: is not TOML: a string must be in quotes: write protocol = \"filesection\""),
        ("[intake]\nmedia_only = Yes", "2: is not TOML: write media_only = true or media_only = false"),
        ("a = 1\na = 2", "2: is not TOML: Error while parsing key-value pair: cannot redefine existing integer 'a'"),
    ])
    func `a bad value is refused in one line that says what to do`(text: String, message: String) throws {
        let answer = try #require(refusal(text))
        #expect(answer.hasPrefix(message), "\(answer)")
        #expect(!answer.contains("\n"))
    }

    @Test func `a password in the URL is refused and not repeated`() throws {
        let answer = try #require(refusal("remote.url = \"https://ann:hunter2@example.org\""))
        #expect(answer.contains("must not hold a user name or password"))
        #expect(!answer.contains("hunter2"))
    }

    @Test(arguments: ["127.0.0.1:8788", "127.8.9.1:0", "[::1]:80", "localhost:1", ""])
    func `loopback addresses are taken for the dashboard`(address: String) throws {
        #expect(try load("control.dashboard = \"\(address)\"").configuration.control.dashboard == address)
    }

    @Test(arguments: [
        ("~/a", "/home/ann/a"), ("~", "/home/ann"), ("a/b", "/etc/a/b"), ("./a//b/", "/etc/a/b"), ("../a", "/a"),
        ("/x/./y", "/x/y"), ("./~a", "/etc/~a"),
    ])
    func `paths become absolute`(written: String, path: String) throws {
        #expect(try load("sidecars.directory = \"\(written)\"").configuration.sidecars.directory == path)
    }

    @Test(arguments: [
        ("http://example.org", false, false), ("https://example.org", false, true),
        ("http://127.0.0.1:8787", false, true),
        ("http://[::1]:1", false, true), ("http://localhost", false, true), ("http://localhost.evil.org", false, false),
        ("http://127.0.0.1.evil.org", false, false), ("http://127.1", false, false), ("http://example.org", true, true),
    ])
    func `a token goes over TLS, to loopback, or where it is allowed`(url: String, insecure: Bool, allowed: Bool) throws
    {
        let effective = try load("remote.url = \"\(url)\"\nremote.insecure_http = \(insecure)")
        #expect(effective.configuration.remote.allowsToken == allowed)
        #expect((effective.tokenObjection == nil) == allowed)
    }

    @Test func `the objection to a token names the line of the URL`() throws {
        let objection = try load("\n[remote]\nurl = \"http://example.org\"").tokenObjection
        #expect(
            objection?.description.hasPrefix("/etc/agent.toml:3: remote.url: a token is not sent over plain http")
                == true)
    }

    @Test(arguments: [
        ("outbox = \"/a\"\nstate = \"/a/.state\"", "2: state: state must not lie inside the outbox (/a)"),
        ("outbox = \"/a\"\nstate = \"/a\"", "2: state: state must not lie inside the outbox (/a)"),
        ("state = \"/a\"\noutbox = \"/a/b\"", "2: outbox: the outbox must not lie inside state (/a)"),
        ("outbox = \"~\"", "1: outbox: state must not lie inside the outbox (/home/ann)"),
        ("outbox = \"/a\"\navatars = \"/a/b\"", "2: avatars: avatars must not lie inside the outbox"),
        ("outbox = \"/a\"\nsidecars.directory = \"/a/b\"", "2: sidecars.directory: must not lie inside the outbox"),
        ("portrait.folder = \"Sent/me\"", "1: portrait.folder: portrait.folder and intake.move_to must be different"),
        (
            "upload.fragment_size = \"1MiB\"",
            "1: upload.fragment_size: must be \"512KiB\" with protocol \"filesection\""
        ),
        (
            "remote.max_patch = \"600KiB\"\nremote.protocol = \"tus\"",
            "1: remote.max_patch: must be a multiple of 512KiB"
        ),
        (
            "remote.part_size = \"6000KiB\"\nremote.protocol = \"s3\"\nremote.bucket = \"b\"",
            "1: remote.part_size: must be a multiple of 512KiB"
        ),
        (
            "remote.secret_key_file = \"/k\"\nremote.protocol = \"s3\"\nremote.bucket = \"b\"",
            "1: remote.secret_key_file: remote.access_key_file and remote.secret_key_file belong together"
        ),
        (
            "remote.bucket = \"b\"",
            "1: remote.bucket: belongs to protocol \"s3\", and remote.protocol is \"filesection\""
        ),
        (
            "remote.protocol = \"s3\"\nremote.bucket = \"b\"\nremote.max_patch = \"1MiB\"",
            "3: remote.max_patch: belongs to protocol \"tus\""
        ),
        (
            "remote.protocol = \"s3\"\nremote.bucket = \"b\"\nremote.creation_with_upload = true",
            "3: remote.creation_with_upload: belongs to protocol \"tus\""
        ),
        ("remote.name = \"{key}\"", "1: remote.name: belongs to protocol \"tus\""),
        ("remote.protocol = \"tus\"\nremote.name = \"a\"", "2: remote.name: must contain {key}, {path} or {name}"),
        ("remote.path_style = 1", "1: remote.path_style: must be true, false or \"auto\", is an integer"),
        ("remote.path_style = \"yes\"", "1: remote.path_style: must be true, false or \"auto\", is \"yes\""),
        ("remote.part_size = \"4MiB\"", "1: remote.part_size: must be 5MiB … 2GiB"),
        ("remote.protocol = \"s3\"", "1: remote.protocol: protocol \"s3\" needs a bucket"),
    ])
    func `keys at odds with each other are refused`(text: String, message: String) throws {
        let answer = try #require(refusal(text))
        #expect(answer.hasPrefix(message), "\(answer)")
    }

    @Test func `keys of one protocol are read, and may stand at their defaults with another`() throws {
        let s3 = """
            [remote]
            protocol = "s3"
            bucket = "pictures"
            path_style = true
            part_size = "16MiB"
            checksum = "sha256"
            """
        let remote = try load(s3).configuration.remote
        #expect(remote.bucket == "pictures" && remote.pathStyle == .always && remote.partSize == 16 << 20)
        #expect(remote.region == "us-east-1" && remote.checksum == .sha256)
        #expect(
            try load("remote.protocol = \"tus\"\nremote.max_patch = \"1MiB\"").configuration.remote.maxPatch == 1 << 20)
        #expect(refusal("remote.bucket = \"\"\nremote.region = \"us-east-1\"\nremote.max_patch = \"0\"") == nil)
    }

    @Test(arguments: ["https://a.example/files/", "https://a.example/files", "http://a/.tus/in/{key}{ext}"])
    func `the address at which tus creates uploads stays as written`(url: String) throws {
        let remote = try load("[remote]\nprotocol = \"tus\"\nurl = \"\(url)\"").configuration.remote
        #expect(remote.writtenURL == url)
        #expect(!remote.url.hasSuffix("/"))
    }

    @Test func `a directory that only begins like the outbox is not inside it`() throws {
        #expect(refusal("outbox = \"/a\"\nstate = \"/ab\"") == nil)
    }
}

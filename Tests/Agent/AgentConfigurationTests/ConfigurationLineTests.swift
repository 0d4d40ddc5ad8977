import Testing

@testable import Text
@testable import AgentConfiguration

@Suite struct ConfigurationLineTests {
    @Test(arguments: [
        ("[upload]\nfiles_in_flihgt = 2", "2: upload.files_in_flihgt: unknown key; did you mean \"files_in_flight\"?"),
        ("[uplaod]\nfiles_in_flight = 2", "1: uplaod: unknown table; did you mean \"upload\"?"),
        ("\n\nuplod.files_in_flight = 2", "3: uplod: unknown table; did you mean \"upload\"?"),
        ("[remote]\naccess_key = \"a\"", "2: remote.access_key: unknown key; did you mean \"access_key_file\"?"),
        ("[remote]\nsecret_key = \"a\"", "2: remote.secret_key: unknown key; did you mean \"secret_key_file\"?"),
        ("[remote]\nendpoint = \"a\"", "2: remote.endpoint: unknown key; did you mean \"url\"?"),
        ("outbx = \"a\"", "1: outbx: unknown key; did you mean \"outbox\"?"),
        ("files_in_flight = 2", "1: files_in_flight: unknown key; \"files_in_flight\" belongs under [upload]"),
        (
            "[upload]\noutbox = \"a\"",
            "2: upload.outbox: unknown key; \"outbox\" belongs at the top, before the first [table]"
        ),
        ("[log]\nqqqqqqq = 2", "2: log.qqqqqqq: unknown key; known here: \"level\""),
        ("[log]\n\"a\\nb\" = 2", "log.\"a\\nb\": unknown key"),
        ("[upload]\nfiles-in-flight = 2", "2: upload.files-in-flight: unknown key; did you mean \"files_in_flight\"?"),
    ])
    func `an unknown key is named with its line and the nearest known one`(text: String, message: String) throws {
        let answer = try #require(refusal(text))
        #expect(answer.hasSuffix(message) || answer.contains(message), "\(answer)")
    }

    @Test(arguments: [
        ("# upload.files_in_flight = 1\nupload.files_in_flight = 0", 2),
        ("upload.\"files_in_flight\" = 0", 1),
        ("\n upload . 'files_in_flight'  =0", 2),
        ("\u{FEFF}\r\nupload.files_in_flight = 0\r\n", 2),
        ("# [upload]\n\n[ upload ] # files_in_flight\n\n\tfiles_in_flight = 0", 5),
        ("[intake]\nmove_to = \"\"\"\na\n[upload]\nfiles_in_flight = 1\n\"\"\"\n[upload]\nfiles_in_flight = 0", 8),
        ("[intake]\nmove_to = 'a#\"'\n[upload]\nfiles_in_flight = 0", 4),
        ("[intake]\nmove_to = \"a\\\"]#\"\n[upload]\nfiles_in_flight = 0", 4),
        ("[intake]\nmove_to = \"\"\"a\\\"\"\"\"\"\"\n[upload]\nfiles_in_flight = 0", 4),
        ("[intake]\nignore = [ # ]\n  \"]\", '''\n]''',\n\n]\n[upload]\nfiles_in_flight = 0", 8),
        ("[media]\njpeg_quality = 0.5\n[upload] # x\nretry_interval=\"1m\"#y\nfiles_in_flight = 0", 5),
        ("media = { thumbnails = true, jpeg_quality = 0.5 }\nupload = { files_in_flight = 0 }", 2),
    ])
    func `the line of a key is found`(text: String, line: Int) {
        #expect(KeyLines(Array(text.utf8))[["upload", "files_in_flight"]] == line)
    }

    @Test func `an element of an array that goes over lines is named with its own line`() {
        let text = "[intake]\nignore = [\n  \"*.a\", # first\n\n  \"*.b\",\n  \"a/b\",\n]"
        #expect(refusal(text)?.hasPrefix("6: intake.ignore[2]: \"a/b\" is not a pattern") == true)
    }

    @Test func `all errors are found, in the order of their lines`() {
        let text = "[upload]\nstall_timeout = 1\nfiles_in_flight = 0\nqqq = 1\n[intake]\nsettle = true\n[a]\nb = 1"
        let lines = refusals(text, environment: ["OUTBOX_LOG_LEVEL": "loud"]).map { $0.prefix { $0 != ":" } }
        #expect(lines == ["2", "3", "4", "6", "7", "environment OUTBOX_LOG_LEVEL"])
    }

    @Test(
        arguments: [
            ("files_in_flihgt", "files_in_flight"), ("FILES_IN_FLIGHT", "files_in_flight"), ("fragment", nil),
            ("fragments_size", "fragment_size"), ("x", nil), ("", nil),
        ] as [(String, String?)])
    func `the nearest key is a likely one or none`(word: String, nearest: String?) {
        #expect(Spelling.nearest(to: word, among: ["files_in_flight", "fragment_size"]) == nearest)
    }

    @Test(arguments: [("", "", 0), ("abc", "", 3), ("abc", "acb", 1), ("kitten", "sitting", 3), ("ab", "ba", 1)])
    func `the distance counts edits`(source: String, target: String, distance: Int) {
        #expect(Spelling.distance(source, target) == distance)
    }
}

import Testing

@testable import Console

@Suite("Wrong usage")
struct UsageLineTests {
    @Test(
        "is one line: the command, the mistake, and where to find help",
        arguments: [
            (
                ["outbox"], "Unexpected argument 'nope'",
                "outbox: unexpected argument 'nope'; see `outbox --help`"
            ),
            (
                ["outbox", "pause"], "name a path or a key, or give --all",
                "outbox: pause: name a path or a key, or give --all; see `outbox pause --help`"
            ),
            (
                ["outbox", "avatar", "get"], "Missing expected argument '<url>'",
                "outbox: avatar get: missing expected argument '<url>'; see `outbox avatar get --help`"
            ),
            (
                ["outbox", "status"], "Unknown option '--jsno'. Did you mean '--json'?",
                "outbox: status: unknown option '--jsno'. Did you mean '--json'? See `outbox status --help`"
            ),
            (
                ["outbox", "run"], "The value 'x' is invalid. Please provide one of 'text' and 'json'.",
                "outbox: run: the value 'x' is invalid. Please provide one of 'text' and 'json'; "
                    + "see `outbox run --help`"
            ),
        ])
    func line(command: [String], message: String, line: String) {
        #expect(UsageLine.text(message, command: command) == line)
    }

    @Test(
        "a mistyped command is shown with the most similar command",
        arguments: [
            ("statsu", "outbox: unknown command 'statsu'. Did you mean 'status'? See `outbox --help`"),
            ("cofnig", "outbox: unknown command 'cofnig'. Did you mean 'config'? See `outbox --help`"),
            ("upload", "outbox: unknown command 'upload'; see `outbox --help`"), ("--all", nil), ("help", nil),
            ("status", nil), (nil, nil),
        ] as [(String?, String?)])
    func unknownCommand(word: String?, line: String?) {
        let names = ["run", "status", "wait", "config"]
        #expect(UsageLine.unknownCommand(word, among: names, command: ["outbox"]) == line)
        #expect(UsageLine.unknownCommand(word, among: [], command: ["outbox", "run"]) == nil)
    }

    @Test(
        "several lines become one, and a list of values stays one",
        arguments: [
            (
                "One of the following:\n  - trace\n  - debug\n",
                "one of the following: trace, debug; see `outbox --help`"
            ),
            (
                "Can't do it.\nPlease use one of:\n    zsh bash",
                "can't do it. Please use one of: zsh bash; see `outbox --help`"
            ),
            ("Unknown option '-ab'\n   or: no value\r\n\n", "unknown option '-ab' or: no value; see `outbox --help`"),
            ("- a\n- b\nand more", "a, b and more; see `outbox --help`"),
        ])
    func joined(message: String, line: String) {
        #expect(UsageLine.text(message, command: ["outbox"]) == "outbox: " + line)
    }

    @Test(
        "typed text is escaped, and significant capitals stay",
        arguments: [
            ("Unexpected argument 'a\u{1B}[2J'", "unexpected argument 'a\\u{1B}[2J'; see `outbox --help`"),
            ("Unexpected argument 'a\tb'", "unexpected argument 'a\\tb'; see `outbox --help`"),
            ("URL expected", "URL expected; see `outbox --help`"),
            ("X", "X; see `outbox --help`"), ("", "see `outbox --help`"),
        ])
    func escaped(message: String, line: String) {
        #expect(UsageLine.text(message, command: ["outbox"]) == "outbox: " + line)
    }
}

import Foundation
import TestSupport
import Testing

@Suite("Shell completions")
struct CompletionTests {
    private static let environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"]

    private func script(_ shell: String) async throws -> String {
        let output = try await Program.run(
            "outbox", ["--generate-completion-script", shell], environment: Self.environment, directory: "/")
        #expect(output.code == 0, "\(output.standardError)")
        return output.standardOutput
    }

    /// Returns the output of a bash script with one argument.
    private func bash(_ script: String, _ argument: String, directory: String = "/") async throws -> String {
        try await Program.run(
            "/bin/bash", ["--norc", "-c", script, "bash", argument], environment: Self.environment, directory: directory
        ).standardOutput
    }

    /// Returns bash's completions of a line, with the cursor at its end, in a directory with a file and a directory.
    private func offers(after line: String) async throws -> [String] {
        let scratch = try TemporaryDirectory(prefix: "completion")
        try await script("bash").write(toFile: scratch.path("outbox.bash"), atomically: true, encoding: .utf8)
        try "x".write(toFile: scratch.path("beach.jpg"), atomically: true, encoding: .utf8)
        try FileManager.default.createDirectory(atPath: scratch.path("sea"), withIntermediateDirectories: false)
        // Bash sets these for a completion function (man 1 bash, Programmable Completion).
        let asking = """
            source ./outbox.bash
            function=$(complete -p outbox | sed 's/.*-F \\([^ ]*\\).*/\\1/')
            COMP_LINE=$1; COMP_POINT=${#1}; COMP_TYPE=9; COMP_KEY=9
            read -ra COMP_WORDS <<< "$1"
            if [[ $1 == *' ' ]]; then COMP_WORDS+=(''); fi
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            "$function" outbox "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2> /dev/null
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let output = try await bash(asking, line, directory: scratch.path)
        return output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("the script for each shell contains the commands", arguments: ["bash", "zsh", "fish"])
    func scripts(shell: String) async throws {
        let script = try await script(shell)
        for command in ["run", "status", "wait", "submit", "pause", "avatar", "doctor"] {
            #expect(script.contains(command), "\(command)")
        }
    }

    @Test("bash accepts the script, which registers a completion")
    func syntax() async throws {
        let scratch = try TemporaryDirectory(prefix: "completion")
        let file = scratch.path("outbox.bash")
        try await script("bash").write(toFile: file, atomically: true, encoding: .utf8)
        let output = try await bash("bash -n \"$1\" && source \"$1\" && complete -p outbox", file)
        #expect(output.hasSuffix(" outbox\n"), "\(output)")
    }

    @Test(
        "bash offers commands, files, directories and the values of options",
        arguments: [
            ("outbox su", "submit"), ("outbox status ", "beach.jpg"), ("outbox pause b", "beach.jpg"),
            ("outbox wait ", "sea"), ("outbox submit ", "sea"), ("outbox run --log-format ", "json"),
            ("outbox avatar get --style ", "original"),
        ])
    func offered(line: String, word: String) async throws {
        let offers = try await offers(after: line)
        #expect(offers.contains(word), "\(offers)")
    }

    @Test("bash offers no files for a directory argument")
    func directories() async throws {
        #expect(try await !offers(after: "outbox submit ").contains("beach.jpg"))
    }
}

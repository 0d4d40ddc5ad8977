import Agent
import ArgumentParser
import Console
import ControlAPI
import Reports

struct AvatarCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "avatar",
        abstract: "Fetch, list and remove mirrored avatars.",
        discussion: """
            The agent mirrors pictures from the web in the directory `avatars` and draws them in styles. While no \
            agent runs, these commands work on the same directory themselves.
            """,
        subcommands: [AvatarGetCommand.self, AvatarListCommand.self, AvatarClearCommand.self])
}

struct AvatarGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print the path of a picture, and fetch it if needed.",
        discussion: """
            STYLE is original, rect:WxH (cropped around the centre), round:WxH,r=R,b=B (corners of radius R inside a \
            transparent border of B pixels), or a name from [avatar_styles]. Lengths are in pixels, up to 4096. A \
            mirrored picture is used even if its server can't be reached.

            Examples:
              outbox avatar get https://example.org/u/42.jpg
              outbox avatar get https://example.org/u/42.jpg --style round:96x96,r=48,b=2
              cp "$(outbox avatar get https://example.org/u/42.jpg --style list)" face.png

            Exit status:
              0   the path is printed
              1   the URL gives no picture; avatar_cache.retry_failed_after says how long
                  the agent leaves it alone
              64  URL or STYLE is invalid
              69  the style can't be drawn, because there is no picture worker
              74  the mirror can't be read or written
              75  the picture did not arrive in time, or its server can't be reached
              77  the configuration does not allow pictures from this host
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The picture's address: http:// or https://.")
    var url: String

    @Option(
        help: "The style to draw the picture in.", completion: .list(["original", "rect:", "round:"]))
    var style = "original"

    @Option(help: "How long to wait at most: 500ms, 10s, 2m.", transform: TimeSpan.read)
    var timeout = TimeSpan.minute

    @Flag(help: "Print a JSON object: {\"url\", \"style\", \"path\", \"type\", \"size\"}.")
    var json = false

    func run() async throws {
        let link = try AgentLink(common)
        let file: AvatarFile
        do {
            file = try await link.client.avatar(url: url, style: style, patience: timeout.duration)
        } catch ControlError.notRunning {
            file = try await link.withOwnMirror { mirror in
                try await mirror.file(url: url, style: style, patience: timeout.duration)
            }
        }
        if json { return try Output.standard.write(json: file) }
        try Output.standard.write(lines: [file.path])
    }
}

struct AvatarListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List mirrored pictures and failed URLs.",
        discussion: """
            Prints a line for each picture: fresh (used without asking its server) or stale, the size in all styles, \
            when it was last fetched and last used, the URL, and the styles. Then a line for each failed URL, with the \
            time until the agent may fetch it again. While no agent runs, failed URLs are unknown.

            Examples:
              outbox avatar list
              outbox avatar list --json | jq -r '.avatars[] | select(.fresh | not) | .url'
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Print a JSON object: {\"avatars\": […], \"failures\": […], \"bytes\": …, \"max_size\": …}.")
    var json = false

    func run() async throws {
        let link = try AgentLink(common)
        let list: AvatarList
        do {
            list = try await link.client.avatars()
        } catch ControlError.notRunning {
            list = try await link.withOwnMirror { try await $0.list() }
        }
        if json { return try Output.standard.write(json: list) }
        let look = Output.standard.look(link.surroundings.environment)
        try Output.standard.write(lines: AvatarTable(list, look: look).lines())
    }
}

struct AvatarClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove mirrored pictures.",
        discussion: """
            Removes every picture in all styles, except the target of current.jpg and the last profile picture that \
            the server confirmed. Also clears the list of failed URLs, even with --older-than, so that they can be \
            fetched again at once.

            Examples:
              outbox avatar clear
              outbox avatar clear --older-than 30d
            """)

    @OptionGroup var common: CommonOptions

    @Option(
        help: "Remove only pictures last fetched, or last confirmed by their server, before this time: 12h, 30d ago.",
        transform: TimeSpan.read)
    var olderThan: TimeSpan?

    @Flag(help: "Print a JSON object: {\"removed\": [URL, …], \"bytes\": …}.")
    var json = false

    func run() async throws {
        let link = try AgentLink(common)
        let cleared: AvatarClearance
        do {
            cleared = try await link.client.clearAvatars(olderThan: olderThan?.duration)
        } catch ControlError.notRunning {
            cleared = try await link.withOwnMirror { try await $0.clear(olderThan: olderThan?.duration) }
        }
        if json { return try Output.standard.write(json: cleared) }
        try Output.standard.write(lines: [cleared.line])
    }
}

extension AgentLink {
    /// Uses the avatar directory without an agent.
    fileprivate func withOwnMirror<Value: Sendable>(
        _ body: (OwnAvatars) async throws -> Value
    ) async throws -> Value {
        let mirror = try OwnAvatars(configuration: configuration, environment: surroundings.environment)
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(mirror))
        } catch {
            result = .failure(error)
        }
        await mirror.close()
        return try result.get()
    }
}

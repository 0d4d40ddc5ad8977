import Agent
import ArgumentParser
import Console
import ControlAPI
import Reports

struct AvatarCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "avatar",
        abstract: "Use the mirror of the server's pictures.",
        discussion: """
            The agent mirrors pictures of the web below `avatars` and draws them in styles. While none runs, these \
            commands use the same directory by themselves.
            """,
        subcommands: [AvatarGetCommand.self, AvatarListCommand.self, AvatarClearCommand.self])
}

struct AvatarGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print the path of a picture, fetching it when needed.",
        discussion: """
            STYLE is original, rect:WxH (cropped around the centre), round:WxH,r=R,b=B (corners of radius R inside a \
            transparent border of B pixels), or a name from [avatar_styles]. Lengths are in pixels, up to 4096. A picture \
            that is kept is printed also where its server can't be asked.

            Ends with 0 when the path is printed, 1 when the URL gives no picture (it is not asked again for \
            avatar_cache.retry_failed_after), 64 when URL or STYLE can't be understood, 69 when there is no \
            picture worker to draw the style, 74 when the mirror can't be used, 75 when it is not there in time or its \
            server can't be reached, 77 when the configuration does not let its host be mirrored.

            Examples:
              outbox avatar get https://example.org/u/42.jpg
              outbox avatar get https://example.org/u/42.jpg --style round:96x96,r=48,b=2
              cp "$(outbox avatar get https://example.org/u/42.jpg --style list --timeout 10s)" face.png
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The picture's address: http:// or https://.")
    var url: String

    @Option(
        help: "How it is drawn.", completion: .list(["original", "rect:", "round:"]))
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
        abstract: "List what is mirrored, and what failed.",
        discussion: """
            A line for each picture: whether it is shown without asking its server (fresh) or not (stale), its size with \
            all styles, when it was fetched and used last, its URL, and the styles it is kept in. Then a line for each URL \
            that failed, with the time for which it is left alone; while no agent runs, there are none of these.

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
            Removes every picture in all styles, but for the one that current.jpg leads to and the profile picture that \
            the server confirmed last. It also forgets which URLs failed, all of them even with --older-than: they may \
            be asked again at once.

            Examples:
              outbox avatar clear
              outbox avatar clear --older-than 30d
            """)

    @OptionGroup var common: CommonOptions

    @Option(
        help: "Only pictures that were fetched, or confirmed by their server, longer ago: 12h, 30d.",
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

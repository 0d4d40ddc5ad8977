import ArgumentParser
import UploadCore

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause uploads until `outbox resume`.",
        discussion: """
            The server keeps what was sent, and the pause lasts over restarts. --all pauses every upload and holds new \
            files too.

            A PATH acts on that path alone, even if other paths have the same content. A directory stands for every \
            file below it; a directory with a source.toml is a post and acts as a whole. A KEY acts on every path that \
            has this content.

            Examples:
              outbox pause ~/Outbox/trip/holiday.mp4
              outbox pause ~/Outbox/trip
              outbox pause --all

            Exit status:
              0   everything you named is paused
              1   something you named can't be paused
              66  the agent does not know a file you named
              69  no agent is running
            """)

    @OptionGroup var options: ActionOptions

    func run() async throws { try await options.run(.pause) }
}

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume paused uploads.",
        discussion: """
            Uploads continue where they stopped. --all ends `pause --all` and resumes every file.

            Examples:
              outbox resume ~/Outbox/trip/holiday.mp4
              outbox resume --all

            Exit status:
              0   nothing you named is paused any more
              1   something you named can't be resumed
              66  the agent does not know a file you named
              69  no agent is running
            """)

    @OptionGroup var options: ActionOptions

    func run() async throws { try await options.run(.resume) }
}

struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel uploads.",
        discussion: """
            The server deletes what it has of them; your files stay where they are. If another path has the same \
            content, its upload continues. A failed file is dismissed: it needs nobody any more, and `wait` passes over it. \
            `outbox retry` starts a cancelled file again.

            Examples:
              outbox cancel ~/Outbox/trip/holiday.mp4
              outbox cancel 9e107d9d372bb6826bd81d3542a419d6
              outbox cancel --all

            Exit status:
              0   everything you named is cancelled
              1   something you named can't be cancelled, for example because it is done
              66  the agent does not know a file you named
              69  no agent is running
            """)

    @OptionGroup var options: ActionOptions

    func run() async throws { try await options.run(.cancel) }
}

struct RetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry uploads now.",
        discussion: """
            A file that waits for its next attempt is tried at once. A file that failed, was cancelled or rejected starts \
            again, also if you name its directory. --all retries every failed and waiting file.

            Examples:
              outbox retry ~/Outbox/trip/holiday.mp4
              outbox retry --all
              outbox status --json |
                jq -j '.files[] | select(.state == "failed") | .path + "\\u0000"' |
                xargs -0 -r outbox retry --

            Exit status:
              0   everything you named is under way or done
              1   something you named can't be retried
              66  the agent does not know a file you named
              69  no agent is running
            """)

    @OptionGroup var options: ActionOptions

    func run() async throws { try await options.run(.retry) }
}

struct FirstCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "first",
        abstract: "Move uploads to the head of the queue.",
        discussion: """
            They start as soon as a slot is free; running uploads are not interrupted. If you name several, the first \
            one starts first.

            Examples:
              outbox first ~/Outbox/urgent.jpg

            Exit status:
              0   everything you named is at the head, running or done
              1   something you named can't be moved
              66  the agent does not know a file you named
              69  no agent is running
            """)

    @OptionGroup var options: ActionOptions

    func validate() throws {
        if options.all { throw ValidationError("--all would change nothing: name what to send first") }
    }

    func run() async throws { try await options.run(.first) }
}

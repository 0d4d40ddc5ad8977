import ArgumentParser
import UploadCore

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop uploads until they are resumed.",
        discussion: """
            What was sent stays on the server, and the pause lasts over restarts. With --all everything stops, and new \
            files wait as well. A PATH acts on that path alone, even where others hold the same content; a directory \
            stands for all below it, one with a source.toml for the post; a KEY acts on every path that waits for it.

            Examples:
              outbox pause ~/Outbox/trip/holiday.mp4
              outbox pause ~/Outbox/trip
              outbox pause --all

            Ends with 0 when everything named is paused, 1 when something can't be, 66 for a file the agent does not \
            know, 69 when no agent is running.
            """)

    @OptionGroup var options: ActionOptions

    func run() async throws { try await options.run(.pause) }
}

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let paused uploads go on.",
        discussion: """
            They go on where they stopped. --all ends `pause --all` and resumes every file.

            Examples:
              outbox resume ~/Outbox/trip/holiday.mp4
              outbox resume --all

            Ends with 0 when nothing of what was named is paused, 1 when something can't go on, 66 for a file the agent \
            does not know, 69 when no agent is running.
            """)

    @OptionGroup var options: ActionOptions

    func run() async throws { try await options.run(.resume) }
}

struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Give uploads up.",
        discussion: """
            What the server has of them is deleted there; the files stay where they are. Where another path holds the \
            same content, that one goes on. `outbox retry` takes a cancelled file up again.

            Examples:
              outbox cancel ~/Outbox/trip/holiday.mp4
              outbox cancel 9e107d9d372bb6826bd81d3542a419d6
              outbox cancel --all

            Ends with 0 when everything named is cancelled, 1 when something can't be (it is done already, say), 66 for \
            a file the agent does not know, 69 when no agent is running.
            """)

    @OptionGroup var options: ActionOptions

    func run() async throws { try await options.run(.cancel) }
}

struct RetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Try uploads again now.",
        discussion: """
            A file that waits for its next attempt is tried at once, one that failed or was cancelled is taken up again. \
            --all is about everything that failed or waits.

            Examples:
              outbox retry ~/Outbox/trip/holiday.mp4
              outbox retry --all
              outbox status --json | jq -j '.files[] | select(.state == "failed") | .path + "\\u0000"' | \
            xargs -0 -r outbox retry --

            Ends with 0 when everything named is on its way or done, 1 when something can't be, 66 for a file the agent \
            does not know, 69 when no agent is running.
            """)

    @OptionGroup var options: ActionOptions

    func run() async throws { try await options.run(.retry) }
}

struct FirstCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "first",
        abstract: "Move uploads to the head of the queue.",
        discussion: """
            They begin as soon as a slot is free; what is being sent is not interrupted. Of several the one named first \
            goes first. --all changes nothing, since everything keeps its place.

            Examples:
              outbox first ~/Outbox/urgent.jpg

            Ends with 0 when everything named goes first, is being sent or is done, 1 when something can't be, 66 for a \
            file the agent does not know, 69 when no agent is running.
            """)

    @OptionGroup var options: ActionOptions

    func run() async throws { try await options.run(.first) }
}

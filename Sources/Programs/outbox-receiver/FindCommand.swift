import ArgumentParser
import Glibc
import OutboxReceiver

/// `outbox-receiver find`: did a file arrive?
struct FindCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "Find files that arrived.",
        discussion: """
            Prints a line for each file that arrived under this name, the newest first: its state, the time of its \
            arrival, user, size, MD5, path below files/USER/ and URL. Without --public-url, the URL is only a path.

            The state is "there" if the file has its size, "missing" or "damaged"; with --read, "whole" instead of \
            "there" if its bytes have the right digests.

            Reads the records of the receiver and changes nothing, so the receiver may run meanwhile.

            Examples:
              outbox-receiver find DSC_0042.JPG --root /srv/outbox
              outbox-receiver find 'trip/*.jpg' --root /srv/outbox --user anna --read
              outbox-receiver find '*' --root /srv/outbox --json | jq -r .path
              sudo outbox-receiver find DSC_0042.JPG        # of the service

            Exit status:
              0   found at least one file
              1   found nothing
              64  wrong usage
              66  the root is not a receiver's
              74  cannot read the storage
            """)

    @Argument(
        help: "The name of a file or the end of its path; *, ? and […] are wildcards. The case of A to Z is ignored.")
    var name: String

    @OptionGroup var place: RootOptions

    @Option(help: "Find files of this user only.")
    var user: String?

    @Flag(
        help: """
            Print a JSON object a line: {"path": "trip/beach.jpg", "user": "anna", "size": 48, "md5": "9e10…", \
            "time": "2026-11-23T13:03:00Z", "url": "/f/…", "state": "there"}. An unknown time is null.
            """)
    var json = false

    @Flag(help: "Read the files, and compare their bytes with the MD5, and the SHA-256 if it is known.")
    var read = false

    func run() throws {
        let search = FileSearch(
            root: place.root ?? RootOptions.ofService, name: name, user: user, publicURL: place.publicURL,
            readsContents: read)
        guard let search else { throw ValidationError("NAME must be the name of a file, such as DSC_0042.JPG") }
        do throws(SearchFailure) {
            let count = try search.run(asJSON: json) { print($0) }
            if count > 0 { return }
        } catch {
            Program.complain("\(error)")
            throw ExitCode(error.exitCode)
        }
        throw ExitCode(1)
    }
}

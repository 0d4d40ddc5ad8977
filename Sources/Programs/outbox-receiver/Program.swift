import ArgumentParser
import Dispatch
import Glibc
import LinuxSystem
import Logging
import MediaTools
import OutboxReceiver
import Versions

/// `outbox-receiver`: the reference server.
struct ReceiverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox-receiver",
        abstract: "Receives uploads by the fileSection protocol and stores them in a directory.",
        discussion: """
            Prints one line when it is ready: "outbox-receiver listening on URL". Logs go to stderr. SIGTERM and \
            SIGINT stop it; stored and unfinished uploads stay.

            Stores everything below --root: files/USER/… has the files under their original names, objects/ the same \
            files by MD5.

            For yourself, on this machine:
              outbox-receiver --root ~/received

            For several users and other machines, behind a proxy that does TLS
            (tokens.txt has one line "TOKEN USER" for each user):
              outbox-receiver --root /srv/outbox --token-file tokens.txt \\
                --public-url https://photos.example.org

            On the local network, by IPv4 or IPv6:
              outbox-receiver --root /srv/outbox --token-file tokens.txt \\
                --listen 0.0.0.0:8787
              outbox-receiver --root /srv/outbox --token-file tokens.txt \\
                --listen '[::]:8787'

            Did a file arrive?
              outbox-receiver find DSC_0042.JPG --root /srv/outbox

            OUTBOX_RECEIVER_TOKENS can hold tokens too: "TOKEN USER, TOKEN USER". As a systemd service, the receiver \
            reads the credential "tokens" (LoadCredential=) if no --token-file is given.

            Exit status:
              0   stopped by a signal
              64  wrong usage
              73  cannot create the root, or cannot listen on the address
              74  cannot read the storage
              75  another receiver uses the root
              78  the configuration has an error
            """,
        version: ProgramVersion.current,
        subcommands: [FindCommand.self])

    @OptionGroup var place: RootOptions

    @Option(help: "The address to listen on. Port 0 stands for any free port.")
    var listen = "127.0.0.1:8787"

    @Option(
        help:
            "A file with lines \"token user\" or \"token user quota=50GiB\", reloaded when it changes. Required unless --listen is a loopback address."
    )
    var tokenFile: String?

    @Option(
        help:
            "A file with lines \"token name\" for programs that read /metrics (default: none, so that a receiver with tokens shows no metrics)."
    )
    var metricsTokenFile: String?

    @Option(help: "Disk space to leave free. Uploads that would use it are refused with 507.")
    var freeSpaceFloor: ByteCount = ByteCount(512 << 20)

    @Option(help: "The largest file to accept.")
    var maxFileSize: ByteCount = ByteCount(64 << 30)

    @Option(
        help:
            "The most that one user may store, including unfinished uploads (default: no limit). A quota in the token file replaces it for that user."
    )
    var quota: ByteCount?

    @Option(
        help:
            "The program outbox-media, which draws small pictures for pages. \"\": no small pictures (default: the installed one)."
    )
    var mediaWorker: String?

    @Option(help: "The most unfinished uploads that one user may have.")
    var maxOpenUploads = 10_000

    @Option(help: "The most connections at a time from one address. Raise the limit behind a proxy.")
    var maxConnectionsPerAddress = 200

    @Flag(
        name: .customLong("no-sync"),
        help: "Confirm files before they are flushed to disk. Faster, but a power cut may lose confirmed files.")
    var skipsSync = false

    @Option(help: "The log level: trace, debug (every request), info, notice, warning, error or critical.")
    var logLevel = "info"

    mutating func validate() throws {
        guard ListenAddress(listen) != nil else {
            throw ValidationError("--listen must be HOST:PORT or [ADDRESS]:PORT, not \(listen)")
        }
        guard Logger.Level(rawValue: logLevel) != nil else {
            throw ValidationError(
                "--log-level: unknown level \(logLevel); use trace, debug, info, notice, warning, error or critical")
        }
        guard maxOpenUploads > 0 else { throw ValidationError("--max-open-uploads must be positive") }
        guard maxConnectionsPerAddress > 0 else {
            throw ValidationError("--max-connections-per-address must be positive")
        }
    }

    /// The path of `outbox-media`; nil if it is not installed.
    private static var installedMediaWorker: String? {
        let told = getenv("OUTBOX_MEDIA").map { ["OUTBOX_MEDIA": String(cString: $0)] }
        let program = PictureWorker.find(environment: told ?? [:])
        return access(program, X_OK) == 0 ? program : nil
    }

    mutating func run() async throws {
        guard let root = place.root else { throw ValidationError("Missing expected argument '--root <root>'") }
        let descriptors = DescriptorLimit.raise()
        guard let address = ListenAddress(listen) else { throw ExitCode(64) }
        var configuration = ReceiverConfiguration(root: root, listen: address)
        configuration.publicURL = place.publicURL
        configuration.tokenFile = tokenFile ?? Credential.path("tokens")
        configuration.metricsTokenFile = metricsTokenFile ?? Credential.path("metrics-tokens")
        configuration.tokens = getenv("OUTBOX_RECEIVER_TOKENS").map { String(cString: $0) }
        configuration.freeSpaceFloor = freeSpaceFloor.bytes
        configuration.maximumFileSize = maxFileSize.bytes
        configuration.maximumOpenUploads = maxOpenUploads
        configuration.mediaWorker = (mediaWorker ?? Self.installedMediaWorker).flatMap { $0.isEmpty ? nil : $0 }
        configuration.quota = quota?.bytes
        configuration.maximumConnectionsPerAddress = maxConnectionsPerAddress
        configuration.synchronizes = !skipsSync
        let goesToJournal = JournalLogHandler.isJournal(getenv("JOURNAL_STREAM").map { String(cString: $0) })
        var logger = Logger(label: "outbox-receiver") { label -> any LogHandler in
            goesToJournal ? JournalLogHandler(label: label) : StreamLogHandler.standardError(label: label)
        }
        logger.logLevel = Logger.Level(rawValue: logLevel) ?? .info
        do {
            try configuration.limitConnections(forDescriptors: descriptors)
            let receiver = try Receiver(configuration, logger: logger)
            try await receiver.run(
                onReady: { url in
                    print("outbox-receiver listening on \(url)")
                    fflush(nil)
                },
                until: {
                    await Signals.first(of: [SIGTERM, SIGINT])
                    Signals.endSoon()
                })
        } catch let failure as StartFailure {
            Program.complain("\(failure)")
            throw ExitCode(failure.exitCode)
        }
    }
}

@main
enum Program {
    static func main() async {
        openMissingStandardDescriptors()
        do {
            var command = try ReceiverCommand.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            exit(report(error))
        }
    }

    private static func report(_ error: any Error) -> Int32 {
        let code = ReceiverCommand.exitCode(for: error)
        let message = ReceiverCommand.message(for: error)
        if code == .success {
            print(ReceiverCommand.fullMessage(for: error))
        } else if code == .validationFailure {
            complain(UsageLine.text(message))
        } else if !message.isEmpty {
            complain(message)
        }
        return code.rawValue
    }

    /// Prints an error to stderr, in one line.
    static func complain(_ reason: String) {
        let bytes = Array("outbox-receiver: \(reason)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// The limit on open files and connections of this process.
enum DescriptorLimit {
    /// Enough for the receiver's maximum of connections and their files.
    private static let enough: rlim_t = 16_384

    /// Raises the soft limit, which is 1,024 on most systems, up to the hard limit (man 2 getrlimit). Leaves the
    /// limit unchanged if the call fails.
    ///
    /// - Returns: the limit that holds now.
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < enough else {
            return Int(enough)
        }
        let old = limit.rlim_cur
        limit.rlim_cur = min(limit.rlim_max, enough)
        return Int(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? limit.rlim_cur : old)
    }
}

/// Waits for signals.
enum Signals {
    /// Ends the process in some seconds, whatever keeps it busy: what is confirmed is on the disk.
    static func endSoon() {
        DispatchQueue(label: "end").asyncAfter(deadline: .now() + 8) {
            Program.complain("some work did not end in time; nothing confirmed is lost")
            _exit(0)
        }
    }

    /// Waits until one of the signals arrives or the task is cancelled. From the call on, these signals no longer
    /// terminate the process.
    static func first(of signals: [Int32]) async {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let sources = signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { arrived.yield() }
            source.activate()
            return source
        }
        for await _ in arrivals { break }
        for source in sources { source.cancel() }
    }
}

/// Finds what the service manager passes to the receiver (man 5 systemd.exec, "CREDENTIALS").
enum Credential {
    /// Returns the path of a credential; nil without one. systemd copies it at the start of the service, so a change
    /// needs a restart.
    static func path(_ name: String) -> String? {
        guard let directory = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }) else { return nil }
        let path = directory + "/\(name)"
        return access(path, F_OK) == 0 ? path : nil
    }
}

import Glibc
import LinuxSystem
import PictureJobs
import SystemPackage
import Versions

#if canImport(CVips)
    import CSandbox
#endif

@main
struct Program {
    private static let help = """
        outbox-media: the picture worker of outbox and outbox-receiver.

        The agent and the receiver start this program; never start it by hand. It
        measures pictures and draws thumbnails and avatars in a process of its own, so
        that a picture made to break a decoder breaks only this process. It opens no
        files and has no network: it gets open files, and one job at a time, over the
        socket on standard input.

          outbox-media --version    show the version, and that of libvips
          outbox-media --help       show this text

        Exit status:
          0   the other end closed the socket
          64  not started by the agent or the receiver
          69  libvips is missing
          74  the socket failed

        Building it needs libvips 8.13 or newer:
          apt-get install --no-install-recommends libvips-dev
        """

    static func main() {
        openMissingStandardDescriptors()
        switch Array(CommandLine.arguments.dropFirst()) {
        case []: work()
        case ["--help"], ["-h"]: print(help)
        case ["--version"]: print("outbox-media \(ProgramVersion.current), \(library ?? "without libvips")")
        default: end(64, "unknown arguments; see outbox-media --help")
        }
    }

    private static func end(_ code: Int32, _ message: String) -> Never {
        try? writeAll(Array("outbox-media: \(message)\n".utf8), to: STDERR_FILENO)
        exit(code)
    }

    #if canImport(CVips)
        private static var library: String? { VipsLibrary.name }

        private static func work() {
            guard isPacketSocket(STDIN_FILENO) else {
                end(
                    64,
                    "standard input is not a socket of outbox or outbox-receiver, which start this program; see outbox-media --help"
                )
            }
            setSignals()
            do {
                let formats = try VipsLibrary.start()
                Limits.set()
                let hello = PictureHello(
                    library: VipsLibrary.name, formats: formats.map(\.rawValue), sandbox: Sandbox.enter())
                try Worker(socket: STDIN_FILENO).run(hello)
            } catch let failure as VipsFailure {
                end(69, "libvips does not start: \(failure.message)")
            } catch {
                end(74, "the socket on standard input failed: \(error)")
            }
        }

        private static func setSignals() {
            // A signal for the agent may go to its whole process group. The agent itself ends a running job or lets it
            // finish.
            for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_IGN) }
            // SIGPROF ends a job that takes too long; an inherited mask or handler must not prevent that.
            signal(SIGPROF, SIG_DFL)
            var none = sigset_t()
            sigemptyset(&none)
            sigprocmask(SIG_SETMASK, &none, nil)
        }

        private static func isPacketSocket(_ descriptor: Int32) -> Bool {
            var type: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0
                && type == Int32(SOCK_SEQPACKET.rawValue)
        }
    #else
        private static var library: String? { nil }

        private static func work() {
            end(
                69,
                "built without libvips, so pictures get no sizes and thumbnails; install libvips with "
                    + "'apt-get install --no-install-recommends libvips-dev' and build again")
        }
    #endif
}

import Glibc
import LinuxSystem
import Session
import SystemPackage

/// Reads the token for `login`.
enum TokenInput {
    private static let longest = BearerToken.longest + 4096

    /// Reads a file.
    ///
    /// - Throws: `CommandFailure.noSuchFile` if the file is unreadable.
    static func read(file path: String) throws(CommandFailure) -> String {
        let file: SharedDescriptor
        do throws(Errno) {
            file = try SharedDescriptor(opening: path, flags: O_RDONLY)
        } catch {
            throw .noSuchFile(name: path, reason: "can't be read: \(error)")
        }
        return try text(of: file.rawValue, named: path)
    }

    /// Reads stdin: on a terminal one hidden line, otherwise everything.
    static func read() throws(CommandFailure) -> String {
        guard isatty(STDIN_FILENO) == 1 else { return try text(of: STDIN_FILENO, named: "stdin") }
        try? Output.error.write("Token: ")
        defer { Output.error.attempt("") }
        return hiddenLine()
    }

    private static func text(of descriptor: Int32, named name: String) throws(CommandFailure) -> String {
        do throws(Errno) {
            return String(decoding: try readAll(from: descriptor, atMost: longest + 1), as: UTF8.self)
        } catch {
            throw .system("cannot read \(name): \(error)")
        }
    }

    /// Reads a line byte by byte, without echo and without the terminal's line editing. The terminal's own lines end
    /// at 4095 bytes (man 3 termios), and a token may be longer.
    private static func hiddenLine() -> String {
        var usual = termios()
        guard tcgetattr(STDIN_FILENO, &usual) == 0 else { return "" }
        var hidden = usual
        hidden.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &usual) }
        var line: [UInt8] = []
        while line.count <= longest {
            var byte: UInt8 = 0
            guard (try? retryingOnInterrupt { Glibc.read(STDIN_FILENO, &byte, 1) }) == 1 else { break }
            switch byte {
            case 3:  // Ctrl-C
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &usual)
                Output.error.attempt("")
                Interruption.end(by: SIGINT)
            case 4, 10, 13: return String(decoding: line, as: UTF8.self)  // Ctrl-D, line feed, return
            case 8, 127: _ = line.popLast()  // backspace
            case 21: line = []  // Ctrl-U
            default: line.append(byte)
            }
        }
        return String(decoding: line, as: UTF8.self)
    }
}

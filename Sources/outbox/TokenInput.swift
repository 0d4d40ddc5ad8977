import AgentKit
import Glibc

/// Where `login` reads a token from.
enum TokenInput {
    private static let longest = BearerToken.longest + 4096

    /// Reads a file.
    ///
    /// - Throws: `CommandFailure.noSuchFile` where it can't be read.
    static func read(file path: String) throws(CommandFailure) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .noSuchFile(name: path, reason: "can't be read: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        return try text(of: descriptor, named: path)
    }

    /// Reads from stdin: on a terminal one line that is not shown, else all there is.
    static func read() throws(CommandFailure) -> String {
        guard isatty(STDIN_FILENO) == 1 else { return try text(of: STDIN_FILENO, named: "stdin") }
        try? Output.error.write("Token: ")
        defer { Output.error.attempt("") }
        return hiddenLine()
    }

    private static func text(of descriptor: Int32, named name: String) throws(CommandFailure) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= longest {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .system("cannot read \(name): \(String(cString: strerror(errno)))") }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads a line byte by byte, with neither echo nor line editing by the terminal: its own lines end at 4095 bytes
    /// (man 3 termios), and a token may be longer.
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
            let count = Glibc.read(STDIN_FILENO, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            guard count == 1 else { break }
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

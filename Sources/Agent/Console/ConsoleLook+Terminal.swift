import CLinux
import Glibc

extension ConsoleLook {
    /// Detects the capabilities of an output of this process.
    ///
    /// - Parameters:
    ///   - descriptor: The output.
    ///   - environment: The environment variables.
    package init(of descriptor: Int32, environment: [String: String]) {
        self.init(terminal: Self.size(of: descriptor), environment: environment)
    }

    /// Returns the size of the terminal behind a descriptor (man 2 ioctl_tty); nil if the descriptor is no terminal.
    private static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
        guard isatty(descriptor) == 1 else { return nil }
        var size = winsize()
        // A serial line does not know its size; assume 80 × 24.
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

import CLinux
import Glibc

extension ConsoleLook {
    /// What can be shown on an output of this process now.
    ///
    /// - Parameters:
    ///   - descriptor: the output.
    ///   - environment: the environment variables.
    public init(of descriptor: Int32, environment: [String: String]) {
        self.init(terminal: Self.size(of: descriptor), environment: environment)
    }

    /// The size of the terminal that a descriptor stands for (man 2 ioctl_tty); nil where it stands for none.
    private static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
        guard isatty(descriptor) == 1 else { return nil }
        var size = winsize()
        // A serial line does not know its size.
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

import AgentSupport
import Glibc
import LinuxSystem
import Logging
import NIOCore
import SystemPackage

/// Where the dashboard listens, and who hears of its URL and of trouble.
package struct Dashboard: Sendable {
    /// Browsers open six connections at a time, and each page holds one for its events.
    static let mostConnections = 64

    let address: DashboardAddress
    private let urlFile: DashboardURLFile
    private let onTrouble: @Sendable (String) -> Void

    /// - Parameters:
    ///   - address: the listening address.
    ///   - state: the state directory, which holds the file with the URL.
    ///   - onTrouble: called with a message for people if nothing listens.
    package init(
        address: DashboardAddress, state: String, onTrouble: @escaping @Sendable (String) -> Void
    ) {
        self.address = address
        urlFile = DashboardURLFile(state: state)
        self.onTrouble = onTrouble
    }

    /// Makes the URL known: the server listens.
    func publish(_ url: String, _ logger: Logger) async {
        logger.notice("the dashboard is open to whoever has this URL", metadata: ["url": "\(url)"])
        let failure = await TimeLimit.run("dashboard-url", .seconds(10)) { [urlFile] in urlFile.write(url) }
        if let errno = failure ?? nil {
            logger.warning(
                "the URL of the dashboard can't be stored, so `outbox status` does not show it",
                metadata: ["path": "\(urlFile.path)", "reason": "\(errno)"])
        }
    }

    /// Removes the file with the URL: nothing listens there any more.
    func withdraw() async {
        _ = await TimeLimit.run("dashboard-url", .seconds(1)) { [urlFile] in urlFile.remove() }
    }

    /// Reports why nothing listens.
    func reportTrouble(_ error: any Error, _ logger: Logger) {
        let isBusy = (error as? IOError)?.errnoCode == EADDRINUSE
        let reason = isBusy ? "another program listens there" : "\(error)"
        let message =
            "there is no dashboard on \(address): \(reason); set control.dashboard to a free port, or to \"\""
        logger.warning("\(message)")
        onTrouble(message)
    }
}

/// The file with the dashboard's URL, `<state>/dashboard-url`. Only its owner can read it.
package struct DashboardURLFile: Sendable {
    private static let name = "dashboard-url"

    private let state: String
    var path: String { state + "/" + Self.name }

    /// - Parameter state: the state directory.
    package init(state: String) { self.state = state }

    /// Returns the URL; nil if no dashboard listens, or if the file can't be read.
    package func read() -> String? {
        guard let file = try? SharedDescriptor(opening: path, flags: O_RDONLY) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").first.map(String.init)
    }

    /// - Returns: why the file could not be written.
    func write(_ url: String) -> Errno? {
        do throws(Errno) {
            try Directory(path: state).replace(Self.name, with: Array((url + "\n").utf8), mode: 0o600)
            return nil
        } catch {
            return error
        }
    }

    /// Removes the file, also that of an earlier run.
    package func remove() { unlink(path) }
}

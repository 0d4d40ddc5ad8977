import Glibc
import LinuxSystem
import Logging
import NIOCore
package import SystemPackage
import URLs

/// Where the dashboard listens, and who hears of its URL and of trouble.
package struct Dashboard: Sendable {
    /// Browsers open six connections at a time, and each page holds one for its events.
    static let mostConnections = 64

    let address: DashboardAddress
    /// The file with a token for `/metrics` that outlives the agent's secret; nil for none.
    let metricsTokenFile: String?
    private let urlFile: DashboardURLFile
    private let onTrouble: @Sendable (String) -> Void

    /// - Parameters:
    ///   - address: the listening address.
    ///   - state: the state directory, which holds the file with the URL.
    ///   - metricsTokenFile: `control.metrics_token_file`.
    ///   - onTrouble: called with a message for people if nothing listens.
    package init(
        address: DashboardAddress, state: String, metricsTokenFile: String? = nil,
        onTrouble: @escaping @Sendable (String) -> Void
    ) {
        self.address = address
        self.metricsTokenFile = metricsTokenFile
        urlFile = DashboardURLFile(state: state)
        self.onTrouble = onTrouble
    }

    /// Makes the URL known: the server listens. Logs are shown to others, so the log has no secret.
    func publish(_ access: DashboardAccess, _ logger: Logger) async {
        let url = access.url
        logger.notice(
            "the dashboard listens; `outbox dashboard` prints its secret URL", metadata: ["address": "\(access.base)"])
        if !access.servesLocalhost {
            logger.warning(
                "another program holds this port of the other address of localhost: open the dashboard only as `outbox dashboard` prints it",
                metadata: ["address": "\(access.base)"])
        }
        let failure = await TimeLimit.run("dashboard-url", .seconds(10)) { [urlFile] in urlFile.write(url) }
        if let errno = failure ?? nil {
            logger.warning(
                "the URL of the dashboard can't be stored, so `outbox dashboard` can't print it",
                metadata: ["path": "\(urlFile.path)", "reason": "\(errno)"])
        }
    }

    /// Removes the file with the URL: nothing listens there any more.
    func withdraw() async {
        _ = await TimeLimit.run("dashboard-url", .seconds(1)) { [urlFile] in urlFile.remove() }
    }

    /// Whether another program listens there.
    static func isBusy(_ error: any Error) -> Bool { (error as? IOError)?.errnoCode == EADDRINUSE }

    /// Reports why nothing listens.
    func reportTrouble(_ error: any Error, _ logger: Logger) {
        let reason = Self.isBusy(error) ? "another program listens there" : "\(error)"
        let message =
            "there is no dashboard on \(address): \(reason); set control.dashboard to a free port, or to \"\""
        logger.warning("\(message)")
        onTrouble(message)
    }
}

/// The file with the dashboard's URL, `<state>/dashboard-url`. Only its owner can read it.
package struct DashboardURLFile: Sendable {
    private static let name = "dashboard-url"
    private static let pageName = "dashboard.html"

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

    /// Returns the URL without its secret, for output that is shown to others.
    package func readAddress() -> String? {
        read().flatMap { WebURL($0) }.map { "http://\($0.authority.text)/" }
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

    /// Writes a page that leads a browser to the URL, and returns its path.
    ///
    /// Every user of the machine can read the arguments of a browser. So a browser gets the name of a private file
    /// instead of the secret.
    package func writePage(leadingTo url: String) throws(Errno) -> String {
        let page = """
            <!doctype html>
            <html lang="en"><meta charset="utf-8"><title>Outbox</title>
            <meta http-equiv="refresh" content="0; url=\(url)">
            <p><a href="\(url)">Open the dashboard</a></p>
            </html>

            """
        try Directory(path: state).replace(Self.pageName, with: Array(page.utf8), mode: 0o600)
        return state + "/" + Self.pageName
    }

    /// Removes the files, also those of an earlier run.
    package func remove() {
        unlink(path)
        unlink(state + "/" + Self.pageName)
    }
}

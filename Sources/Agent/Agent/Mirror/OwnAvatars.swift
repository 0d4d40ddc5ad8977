package import AgentConfiguration
import Avatars
package import ControlAPI
import Logging
import MediaTools
import Portrait
package import Reports
import Transport
import Versions

/// The avatar mirror of a command that runs without an agent.
///
/// Works on the agent's directory. An agent may start meanwhile without harm.
package final class OwnAvatars: Sendable {
    private let mirror: AvatarMirror
    private let transport: CurlTransport
    private let worker: PictureWorker
    /// The picture the server confirmed last.
    private let confirmed: AvatarAddress?

    /// Opens the mirror and creates its directory if missing.
    ///
    /// - Parameter environment: the process's environment; `OUTBOX_MEDIA` names the picture worker.
    /// - Throws: `AvatarTrouble` of the kind `storage`.
    package init(configuration: Configuration, environment: [String: String]) throws(AvatarTrouble) {
        let quiet = Logger(label: "outbox") { _ in SwiftLogNoOpLogHandler() }
        let cache = configuration.avatarCache
        let store = try Self.openStore(configuration.avatars)
        confirmed = Self.confirmedPortrait(state: configuration.state)
        transport = try Self.startTransport()
        worker = PictureWorker(program: PictureWorker.find(environment: environment), processes: 1, logger: quiet)
        let tally = AvatarTally(events: nil)
        mirror = AvatarMirror(
            cache: AvatarCache(
                store: store,
                fetcher: CurlFetcher(
                    transport: transport, policy: AddressPolicy(allowsPrivate: cache.allowPrivate),
                    allowedHosts: cache.allowedHosts),
                pictures: worker, options: AvatarOptions(configuration), onEvent: { tally.take($0) }, logger: quiet),
            configuration: configuration, tally: tally, lasts: false)
    }

    private static func openStore(_ directory: String) throws(AvatarTrouble) -> DiskAvatarStore {
        do throws(AvatarStoreError) {
            return try DiskAvatarStore(directory: directory)
        } catch {
            throw AvatarTrouble(AvatarTrouble.storage, error.description)
        }
    }

    /// `current.jpg` may show a pending picture. Pin the confirmed picture, so that it isn't lost meanwhile.
    private static func confirmedPortrait(state: String) -> AvatarAddress? {
        guard let profile = try? Profile.read(from: state) else { return nil }
        return try? AvatarAddress(Profile.cacheURL(of: profile.portraitURL))
    }

    private static func startTransport() throws(AvatarTrouble) -> CurlTransport {
        do throws(CurlTransport.StartError) {
            return try CurlTransport(configuration: .init(userAgent: "outbox/\(ProgramVersion.current)"))
        } catch {
            throw AvatarTrouble(AvatarTrouble.storage, "libcurl does not start: \(error)")
        }
    }

    /// Returns a picture's file in the mirror; fetches and draws the picture if needed.
    ///
    /// - Parameters:
    ///   - url: The picture's address.
    ///   - style: A step or the name of a style.
    ///   - patience: How long to wait.
    /// - Throws: `AvatarTrouble` if there is no picture.
    package func file(url: String, style: String, patience: Duration) async throws(AvatarTrouble) -> AvatarFile {
        await spareConfirmed()
        let picture = try await mirror.picture(url: url, style: style, patience: patience)
        return try AvatarFile(url: url, style: style, picture)
    }

    /// Lists the pictures in the mirror.
    package func list() async throws(AvatarTrouble) -> AvatarList { try await mirror.list() }

    /// Removes pictures fetched longer ago than `age`; all pictures if nil.
    package func clear(olderThan age: Duration?) async throws(AvatarTrouble) -> AvatarClearance {
        await spareConfirmed()
        return try await mirror.clear(olderThan: age)
    }

    private func spareConfirmed() async {
        if let confirmed { await mirror.pin(confirmed) }
    }

    /// Cancels all work in progress, and ends the worker programs and connections.
    package func close() async {
        mirror.stop()
        await worker.shutdown()
        transport.shutdown()
    }
}

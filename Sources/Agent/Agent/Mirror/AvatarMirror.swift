import AgentConfiguration
import Text
import Avatars
import ControlAPI
import PictureJobs
import LinuxSystem
import Reports
import Synchronization
import UploadCore

/// Serves the avatar cache to the control interface and the commands: adds error texts, waiting and counts.
final class AvatarMirror: AvatarBackend {
    private struct Wish: Hashable {
        let address: AvatarAddress
        let style: PictureStyle
    }

    /// Maximum number of pictures that are fetched on for callers whose patience has ended.
    private static let mostPromised = 256

    private let cache: AvatarCache
    private let styles: [String: [PictureStep]]
    private let maximumSize: UInt64
    private let tally: AvatarTally
    private let lasts: Bool
    /// Requests whose callers will ask again.
    private let promised = Mutex<[Wish: Task<Result<AvatarPicture, AvatarFailure>, Never>]>([:])

    /// - Parameters:
    ///   - cache: The cache. Its events must go to `tally`.
    ///   - tally: Counts requests and events.
    ///   - lasts: Whether the mirror outlives the answer, so that failed URLs are not asked again for a while.
    init(cache: AvatarCache, configuration: Configuration, tally: AvatarTally, lasts: Bool = true) {
        self.lasts = lasts
        self.cache = cache
        styles = configuration.avatarStyles
        maximumSize = configuration.avatarCache.maxSize
        self.tally = tally
    }

    func picture(url: String, style: String, patience: Duration) async throws(AvatarTrouble) -> ServedPicture {
        let wish = try wish(url, style)
        let result = await fetch(wish, patience: patience)
        if case .success(let picture)? = result { return served(picture) }
        // A stale or previously drawn picture is better than none.
        if let kept = await cache.kept(wish.address, wish.style) { return served(kept) }
        tally.count(.placeholder)
        guard case .failure(let failure)? = result else {
            throw AvatarTrouble(
                AvatarTrouble.pending, "\(wish.address.url) is still being fetched or drawn; ask again later")
        }
        throw AvatarTrouble(failure, of: wish.address, until: lasts ? failure.until : nil, now: .now())
    }

    func list() async throws(AvatarTrouble) -> AvatarList {
        let now = WallTime.now()
        let entries = try await entries()
        return AvatarList(
            avatars: entries.map { AvatarList.Picture($0, now: now) },
            failures: await cache.failures().map { AvatarList.Failure($0, now: now) },
            bytes: entries.reduce(0) { $0 + $1.size + $1.styledSize }, max_size: maximumSize)
    }

    func clear(olderThan age: Duration?) async throws(AvatarTrouble) -> AvatarClearance {
        do throws(AvatarStoreError) {
            let removed = try await cache.clear(olderThan: age)
            return AvatarClearance(
                removed: removed.map(\.record.url).sorted(),
                bytes: removed.reduce(0) { $0 + $1.size + $1.styledSize })
        } catch {
            throw AvatarTrouble(AvatarTrouble.storage, error.description)
        }
    }

    /// Protects an address from trimming and clearing.
    func pin(_ address: AvatarAddress) async { await cache.pin(address) }

    func figures() async -> AvatarFigures {
        var figures = tally.figures
        let totals = try? await cache.totals()
        figures.kept = totals?.count ?? 0
        figures.keptBytes = totals?.bytes ?? 0
        figures.blacklisted = await cache.failures().count
        return figures
    }

    private func entries() async throws(AvatarTrouble) -> [AvatarEntry] {
        do throws(AvatarStoreError) {
            return try await cache.entries().sorted { $0.record.url < $1.record.url }
        } catch {
            throw AvatarTrouble(AvatarTrouble.storage, error.description)
        }
    }

    private func wish(_ url: String, _ style: String) throws(AvatarTrouble) -> Wish {
        guard let known = PictureStyle(style, named: styles) else {
            throw AvatarTrouble(AvatarTrouble.unknownStyle, Self.objection(to: style, named: styles.keys.sorted()))
        }
        do throws(AvatarAddressError) {
            return Wish(address: try AvatarAddress(url), style: known)
        } catch {
            throw AvatarTrouble(AvatarTrouble.malformedURL, error.description)
        }
    }

    /// Explains why a text is no style, and suggests the nearest name or lists all styles.
    static func objection(to style: String, named names: [String]) -> String {
        let kinds = ["original", "rect:WxH", "round:WxH,r=R,b=B"] + names
        let hint =
            Spelling.nearest(to: style, among: names + ["original"]).map { "did you mean \"\($0)\"?" }
            ?? "use \(kinds.joined(separator: ", ")), with sides up to 4096"
        return "\"\(style)\" is not a style; \(hint)"
    }

    private func served(_ picture: AvatarPicture) -> ServedPicture {
        tally.count(.picture)
        return ServedPicture(bytes: picture.bytes, type: picture.type, path: picture.path)
    }

    // MARK: Fetching

    /// Returns nil if `patience` ended first. The cache then goes on, since the caller may ask again. If the caller's task is
    /// cancelled, the cache goes on only for other callers.
    private func fetch(_ wish: Wish, patience: Duration) async -> Result<AvatarPicture, AvatarFailure>? {
        let request = Task { [cache] () -> Result<AvatarPicture, AvatarFailure> in
            do throws(AvatarFailure) {
                return .success(try await cache.picture(wish.address, wish.style))
            } catch {
                return .failure(error)
            }
        }
        let result = await withTaskCancellationHandler {
            await TimeLimit.wait(patience) { await request.value }
        } onCancel: {
            request.cancel()
        }
        if result == nil { promise(wish, request) }
        return result
    }

    /// Keeps a request for a caller who may ask again. One request a picture is enough.
    private func promise(_ wish: Wish, _ request: Task<Result<AvatarPicture, AvatarFailure>, Never>) {
        let isKept = promised.withLock { promised in
            if promised[wish] != nil || promised.count >= Self.mostPromised { return false }
            promised[wish] = request
            return true
        }
        guard isKept else { return request.cancel() }
        Task {
            _ = await request.value
            promised.withLock { $0[wish] = nil }
        }
    }

    /// Cancels the requests whose callers have left.
    func stop() {
        for request in promised.withLock({ Array($0.values) }) { request.cancel() }
    }
}

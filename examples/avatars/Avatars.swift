// Mirrors pictures of the web into a directory and prints their paths:
//
//     example-avatars DIRECTORY STYLE URL …
//
// with a style like `original`, `rect:96x96` or `round:96x96,r=48,b=2`. A second request takes the picture from the
// directory. After the server's Cache-Control expired, the cache asks the server whether the picture changed.

import Avatars
import Foundation
import Logging
import MediaTools
import PictureJobs
import Transport

@main
struct Example {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 3, let style = PictureStyle(arguments[1]) else {
            complain("usage: example-avatars DIRECTORY STYLE URL …")
            exit(64)
        }
        do {
            let cache = try makeCache(directory: arguments[0])
            exit(await mirror(Array(arguments[2...]), style, cache) ? 0 : 1)
        } catch {
            complain("\(error)")
            exit(73)
        }
    }

    /// Creates a cache from its four parts: storage, downloads, drawing and limits.
    static func makeCache(directory: String) throws -> AvatarCache {
        let logger = Logger(label: "example-avatars") { StreamLogHandler.standardError(label: $0) }
        let environment = ProcessInfo.processInfo.environment
        return AvatarCache(
            store: try DiskAvatarStore(directory: directory),
            fetcher: CurlFetcher(
                transport: try CurlTransport(),
                policy: AddressPolicy(allowsPrivate: environment["ALLOW_PRIVATE"] == "1")),
            pictures: PictureWorker(program: PictureWorker.find(environment: environment), logger: logger),
            options: AvatarOptions(maximumSize: 100 << 20, maximumPictureLength: 5 << 20),
            logger: logger)
    }

    /// Requests all pictures at once. The cache fetches each URL once, a few at a time.
    ///
    /// - Returns: Whether all pictures succeeded.
    static func mirror(_ urls: [String], _ style: PictureStyle, _ cache: AvatarCache) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for url in urls { group.addTask { await show(url, style, cache) } }
            return await group.reduce(true) { $0 && $1 }
        }
    }

    static func show(_ url: String, _ style: PictureStyle, _ cache: AvatarCache) async -> Bool {
        do {
            let picture = try await cache.picture(try AvatarAddress(url), style)
            print(picture.path ?? "(in memory)", picture.type, "\(picture.bytes.count) bytes")
            return true
        } catch {
            complain("\(error)")
            return false
        }
    }

    static func complain(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}

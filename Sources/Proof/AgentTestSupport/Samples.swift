package import Reports
package import UploadCore

extension FileReport {
    /// A report of a path at a fixed moment.
    package static func seen(_ path: RelativePath, _ state: FileState = .settling) -> FileReport {
        FileReport(
            path: path, state: state, remoteProtocol: "filesection",
            acceptedAt: WallTime(milliseconds: 1_795_253_400_123), updatedAt: WallTime(milliseconds: 1_795_253_402_000))
    }

    /// A report of a path with a state and an optional key.
    package static func sample(_ path: String, _ state: FileState, key: String? = nil) throws -> FileReport {
        let time = WallTime(milliseconds: 1_795_253_400_000)
        guard let path = RelativePath(path) else { throw CancellationError() }
        var report = FileReport(
            path: path, state: state, remoteProtocol: "filesection", acceptedAt: time, updatedAt: time)
        report.key = key.flatMap { ContentKey(hexadecimal: $0) }
        return report
    }
}

extension SourceReport {
    /// A report of a source at a fixed moment.
    package static func seen(_ directory: RelativePath, _ state: SourceState = .draft) -> SourceReport {
        SourceReport(
            id: "0123456789abcdef0123456789abcdef", directory: directory, state: state,
            acceptedAt: WallTime(milliseconds: 1_795_253_400_123), updatedAt: WallTime(milliseconds: 1_795_253_402_000))
    }

    /// A report of a source in a directory. The id repeats `digit` 32 times.
    package static func sample(_ directory: String, _ state: SourceState, digit: String = "a") throws -> SourceReport {
        let time = WallTime(milliseconds: 1_795_253_400_000)
        guard let path = RelativePath(directory) else { throw CancellationError() }
        return SourceReport(
            id: String(repeating: digit, count: 32), directory: path, state: state, acceptedAt: time, updatedAt: time)
    }
}

extension AvatarList {
    /// A picture in two styles, and a failed picture.
    package static var sample: AvatarList {
        AvatarList(
            avatars: [
                Picture(
                    url: "https://example.org/42.jpg", type: "image/jpeg", size: 20_480,
                    styles: ["list", "rect:96x96"], styled_size: 4096, fetched_at: "2026-11-21T09:30:00.000Z",
                    fresh_until: "2026-11-22T09:30:00.000Z", fresh: true, used_at: "2026-11-21T10:30:00.000Z",
                    age: 7200, unused: 3600)
            ],
            failures: [
                Failure(
                    url: "https://example.org/43.jpg", code: "not_found",
                    message: "https://example.org/43.jpg: the server has no such picture (404)",
                    until: "2026-11-21T11:40:00.000Z", remaining: 570)
            ], bytes: 24_576, max_size: 1 << 30)
    }
}

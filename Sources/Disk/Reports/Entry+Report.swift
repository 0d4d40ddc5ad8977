import Text
import FoundationEssentials
import UploadCore

extension FileEntry {
    /// Makes the entry that a client reads from `controlText()`.
    package init(_ report: FileReport) {
        self.init(
            id: report.id, path: report.path.description, path_bytes: report.path.base64IfNotUTF8,
            key: report.key?.description, state: report.state.rawValue, kind: report.type?.kind.rawValue,
            type: report.type?.mime, size: report.size,
            fragments: report.fragments.map { Fragments(total: $0.total, finished: $0.finished) },
            progress: report.shownProgress, hashed: report.hashed,
            remote: Remote(protocol: report.remoteProtocol, id: report.remote.id, url: report.remote.url),
            product: report.shownProduct.map { Product($0, key: report.productKey) },
            deduplicated: report.deduplicated, attempts: report.attempts,
            next_attempt_at: report.nextAttemptAt.map(Timestamp.text), error: report.error.map(Problem.init),
            accepted_at: Timestamp.text(report.acceptedAt), finished_at: report.finishedAt.map(Timestamp.text),
            speed: report.bytesPerSecond, eta: report.secondsLeft, bytes_in_flight: report.bytesInFlight,
            source: report.source, moved_from: report.movedFrom?.description)
    }
}

extension FileEntry.Product {
    fileprivate init(_ product: Product, key: ContentKey?) {
        self.init(
            key: key?.description, type: product.made?.type.mime, size: product.made?.size,
            width: product.made?.facts.width, height: product.made?.facts.height,
            duration: product.made?.facts.duration, recipe: product.recipe, error: product.error)
    }
}

extension FileEntry.Problem {
    fileprivate init(_ error: FileError) {
        self.init(code: error.code, message: error.message, retryable: error.retryable)
    }
}

extension SourceEntry {
    /// Makes the entry that a client reads from `controlText()`.
    package init(_ report: SourceReport) {
        self.init(
            id: report.id, path: report.directory.description, path_bytes: report.directory.base64IfNotUTF8,
            title: report.title, cover: report.cover?.description, state: report.state.word, revision: report.revision,
            url: report.url, progress: report.shownProgress, size: report.size,
            files: report.files.map { File($0, name: report.name(of: $0)) },
            skipped: report.skipped.map(\.description), pending_changes: report.pendingChanges.map(\.description),
            next_attempt_at: report.nextAttemptAt.map(Timestamp.text), error: report.error.map(FileEntry.Problem.init),
            accepted_at: Timestamp.text(report.acceptedAt), finished_at: report.finishedAt.map(Timestamp.text),
            speed: report.bytesPerSecond, eta: report.secondsLeft, bytes_in_flight: report.bytesInFlight)
    }
}

extension SourceEntry.File {
    fileprivate init(_ report: FileReport, name: RelativePath) {
        self.init(
            path: report.path.description, path_bytes: report.path.base64IfNotUTF8, name: name.description,
            key: report.key?.description, kind: report.type?.kind.rawValue, state: report.state.rawValue,
            progress: report.shownProgress, size: report.size, url: report.remote.url,
            error: report.error.map(FileEntry.Problem.init))
    }
}

extension RelativePath {
    /// The bytes in base64 if they are not UTF-8; nil otherwise.
    var base64IfNotUTF8: String? { isUTF8 ? nil : Data(bytes).base64EncodedString() }
}

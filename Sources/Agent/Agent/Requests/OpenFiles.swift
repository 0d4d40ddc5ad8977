import Intake
import LinuxSystem
import MediaTools
import SystemPackage
import UploadCore

/// The open files whose fragments are being read, one for each upload.
struct OpenFiles: Sendable {
    /// An open file and the name under which it was opened.
    struct Source: Sendable {
        var path: RelativePath
        var file: SharedDescriptor
    }

    private let files: OutboxFiles
    private let products: ContentFolder?
    private var open: [ContentKey: Source] = [:]

    /// - Parameter products: what is uploaded in place of files; `nil` if no type of file has a recipe.
    init(files: OutboxFiles, products: ContentFolder? = nil) {
        self.files = files
        self.products = products
    }

    func isOpen(_ key: ContentKey) -> Bool { open[key] != nil }

    mutating func close(_ key: ContentKey) { open[key] = nil }

    /// Closes the file of an upload if it was opened under this name.
    mutating func close(_ key: ContentKey, at path: RelativePath) {
        if open[key]?.path == path { open[key] = nil }
    }

    /// Returns a file that holds a content, and opens it if needed.
    mutating func source(of key: ContentKey, _ uploads: UploadFacts) throws(SourceProblem) -> Source {
        if let source = open[key], uploads.active[source.path]?.key == key { return source }
        var problem: SourceProblem?
        for path in uploads.machine.waiters(of: key).sorted() {
            do throws(SourceProblem) {
                let source = try openSource(path, uploads.active[path])
                open[key] = source
                return source
            } catch {
                // Report a changed file at once, but a missing file only if no other path serves.
                if error.kind == .changed { throw error }
                problem = problem ?? error
            }
        }
        throw problem ?? SourceProblem(path: .root, kind: .missing)
    }

    private func openSource(_ path: RelativePath, _ record: DropRecord?) throws(SourceProblem) -> Source {
        if let record, let key = record.key, record.product?.made != nil {
            // Without its product, the file is hashed and processed again.
            guard let file = products?.open(key) else { throw SourceProblem(path: path, kind: .changed) }
            return Source(path: path, file: file)
        }
        let opened: (file: SharedDescriptor, status: FileStatus)
        do throws(Errno) {
            opened = try files.open(path)
        } catch {
            throw SourceProblem(path: path, kind: Self.kind(of: error, path))
        }
        guard let known = record?.identity, known.isSameFile(as: FileIdentity(opened.status)) else {
            throw SourceProblem(path: path, kind: .changed)
        }
        return Source(path: path, file: opened.file)
    }

    private static func kind(of error: Errno, _ path: RelativePath) -> SourceProblem.Kind {
        let meaning = LocalError(error)
        switch meaning {
        case .missing, .stale: return .missing
        case .replaced: return .changed
        case .busy, .shortage, .away, .refused, .unusable:
            return .unreadable(
                .unreadable("\(path)", "\(error)", meaning.remedy, isPassing: meaning.isPassing))
        }
    }
}

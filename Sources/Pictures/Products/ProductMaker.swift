import Glibc
package import LinuxSystem
package import MediaTools
import SystemPackage
package import UploadCore

/// Makes products, and stores each under its key.
///
/// A product is written to an unnamed file, synced, and then named. So no program sees half of a product, and a kill
/// leaves nothing behind.
package struct ProductMaker: Sendable {
    /// What the maker uses.
    package struct Parts: Sendable {
        /// The stored products.
        package var folder: ContentFolder
        /// Encodes pictures or videos anew, by kind.
        package var conversions: [MediaType.Kind: any ProductStep]
        /// Removes positions, or all metadata.
        package var remover: any ProductStep
        /// Opens a file of the outbox, unless it changed.
        package var open: @Sendable (RelativePath, FileIdentity) -> SharedDescriptor?
        /// Hashes an open file.
        package var hash: @Sendable (SharedDescriptor) async -> HashFinding
        /// Measures a picture or video.
        package var measure: @Sendable (SharedDescriptor, MediaType) async -> MediaFacts

        package init(
            folder: ContentFolder, conversions: [MediaType.Kind: any ProductStep], remover: any ProductStep,
            open: @escaping @Sendable (RelativePath, FileIdentity) -> SharedDescriptor?,
            hash: @escaping @Sendable (SharedDescriptor) async -> HashFinding,
            measure: @escaping @Sendable (SharedDescriptor, MediaType) async -> MediaFacts
        ) {
            self.folder = folder
            self.conversions = conversions
            self.remover = remover
            self.open = open
            self.hash = hash
            self.measure = measure
        }
    }

    /// A file that a step made.
    private struct Draft {
        var draft: ContentDraft
        var type: MediaType
    }

    private let parts: Parts

    package init(_ parts: Parts) {
        self.parts = parts
    }

    /// Removes what an earlier run with recipes left. Blocks on the disk.
    ///
    /// - Parameter state: the state directory.
    package static func removeLeftovers(of state: String) {
        for name in ["products", "location"] { removeTree("\(state)/\(name)") }
    }

    /// The stored products.
    package var folder: ContentFolder { parts.folder }

    /// Makes a product. Tasks that call this should prefer the thread of the folder, since opening files may block.
    ///
    /// - Parameter progress: receives the finished share, 0 to 1.
    /// - Returns: the event for the queue of products; nil if the task was cancelled.
    package func make(
        _ job: ProductQueue.Job, progress: @escaping @Sendable (Double) -> Void
    ) async -> ProductQueue.Event? {
        if let event = await adopt(job) { return event }
        guard let file = parts.open(job.path, job.identity), let size = try? FileStatus(of: file.rawValue).size else {
            return .changed(id: job.id)
        }
        let original = ProductInput(file: file, type: job.type, size: size, isSlow: job.isSlow)
        let scratch = "\(parts.folder.path)/.scratch-\(job.id)"
        var drafts: [Draft] = []
        defer { removeTree(scratch) }
        do {
            try makeScratch(scratch)
            let error = try await convert(original, job, scratch, into: &drafts, progress)
            if let removal = job.recipe.removal {
                do throws(ProductFailure) {
                    try await perform(parts.remover, on: original, scratch, into: &drafts, progress)
                } catch .refused(let reason), .missing(let reason) {
                    await discard(drafts)
                    if await hasChanged(file, job) { return .changed(id: job.id) }
                    return .refused(id: job.id, .notRemoved(removal, reason))
                }
            }
            guard let result = drafts.last else {
                if await hasChanged(file, job) { return .changed(id: job.id) }
                return .made(id: job.id, nil, nil, digests: [], error: error)
            }
            let event = try await store(result, of: job, original: file, error: error)
            await discard(drafts)
            return event
        } catch {
            await discard(drafts)
            return event(for: error, job)
        }
    }

    /// Uses a product that was made before, if it is still stored.
    private func adopt(_ job: ProductQueue.Job) async -> ProductQueue.Event? {
        guard let known = job.known, let wanted = known.content, let file = parts.folder.open(wanted.key) else {
            return nil
        }
        if case .content(_, _, let content, let digests) = await parts.hash(file), content.key == wanted.key,
            content.seal == wanted.seal
        {
            return .made(id: job.id, content, known.product.made, digests: digests, error: known.product.error)
        }
        await parts.folder.remove(wanted.key)
        return nil
    }

    /// Encodes the content anew.
    ///
    /// - Returns: why the original remains; nil if it does not, or needs no conversion.
    private func convert(
        _ original: ProductInput, _ job: ProductQueue.Job, _ scratch: String, into drafts: inout [Draft],
        _ progress: @escaping @Sendable (Double) -> Void
    ) async throws(ProductFailure) -> String? {
        guard job.recipe.conversion != nil, let step = parts.conversions[job.type.kind] else { return nil }
        do throws(ProductFailure) {
            try await perform(step, on: original, scratch, into: &drafts, progress)
            return nil
        } catch .refused(let reason), .missing(let reason) {
            return reason
        }
    }

    /// Performs a step on the last draft, or on the original if there is none.
    private func perform(
        _ step: any ProductStep, on original: ProductInput, _ scratch: String, into drafts: inout [Draft],
        _ progress: @escaping @Sendable (Double) -> Void
    ) async throws(ProductFailure) {
        var input = original
        if let last = drafts.last {
            guard let size = try? FileStatus(of: last.draft.file.rawValue).size else {
                throw .failed("the product can't be read")
            }
            input = ProductInput(file: last.draft.file, type: last.type, size: size, isSlow: original.isSlow)
        }
        let output: ContentDraft
        do throws(ContentFolderFailure) {
            output = try await parts.folder.newDraft()
        } catch {
            throw ProductFailure(error)
        }
        do throws(ProductFailure) {
            switch try await step.perform(on: input, into: output.file, scratch: scratch, progress: progress) {
            case .unchanged: await parts.folder.discard(output)
            case .made(let type): drafts.append(Draft(draft: output, type: type))
            }
        } catch {
            await parts.folder.discard(output)
            throw error
        }
    }

    /// Stores a product under its key, unless the original changed while it was read.
    private func store(
        _ result: Draft, of job: ProductQueue.Job, original: SharedDescriptor, error: String?
    ) async throws(ProductFailure) -> ProductQueue.Event {
        if await hasChanged(original, job) { return .changed(id: job.id) }
        guard case .content(let identity, _, let content, let digests) = await parts.hash(result.draft.file) else {
            throw .failed("the product can't be read")
        }
        let facts = await parts.measure(result.draft.file, result.type)
        if Task.isCancelled { throw .cancelled }
        do throws(ContentFolderFailure) {
            try await parts.folder.keep(result.draft, as: content.key)
        } catch {
            throw ProductFailure(error)
        }
        let made = Product.Made(type: result.type, size: identity.size, facts: facts)
        return .made(id: job.id, content, made, digests: digests, error: error)
    }

    /// Whether a file no longer holds the original. A step may have read other bytes than those that were hashed.
    private func hasChanged(_ file: SharedDescriptor, _ job: ProductQueue.Job) async -> Bool {
        guard case .content(_, _, let read, _) = await parts.hash(file) else { return true }
        return read.key != job.original.key || read.seal != job.original.seal
    }

    private func event(for failure: ProductFailure, _ job: ProductQueue.Job) -> ProductQueue.Event? {
        switch failure {
        case .refused(let reason), .missing(let reason), .failed(let reason):
            .failed(id: job.id, .other(reason))
        case .tookTooLong(let reason): .failed(id: job.id, .timeout(reason))
        case .noSpace: .failed(id: job.id, .diskFull("the disk is full"))
        case .cancelled: nil
        }
    }

    private func discard(_ drafts: [Draft]) async {
        for draft in drafts { await parts.folder.discard(draft.draft) }
    }

    // MARK: Scratch

    private func makeScratch(_ path: String) throws(ProductFailure) {
        removeTree(path)
        do throws(Errno) {
            try Directory.create(parts.folder.path)
            try retryingOnInterrupt { mkdir(path, 0o700) }
        } catch {
            if error == .noSpace || error == .diskQuotaExceeded { throw .noSpace }
            throw .failed("\(path): \(error)")
        }
    }
}

/// Removes a directory with its files. A missing directory is no error.
private func removeTree(_ path: String) {
    guard let directory = try? Directory(path: path) else { return }
    for entry in (try? directory.entries()) ?? [] {
        let name = "\(path)/\(String(decoding: entry.name, as: UTF8.self))"
        if entry.isDirectory == true { removeTree(name) } else { try? directory.unlink(entry.name) }
    }
    _ = rmdir(path)
}

extension ProductFailure {
    init(_ failure: ContentFolderFailure) {
        self = failure.isDiskFull ? .noSpace : .failed(failure.message)
    }
}

extension ContentFolder {
    /// The folder of products, `<state>/products`. A product counts as whole; its hash tells whether it is.
    package init(products path: String) {
        self.init(path: path, suffix: "", thread: "products") { _ in true }
    }

    /// Removes the leftovers of an earlier run.
    ///
    /// - Returns: the products with their sizes in bytes.
    package func sweepProducts() -> [ContentKey: UInt64] {
        guard let directory = try? Directory(path: path) else { return [:] }
        for entry in (try? directory.entries()) ?? [] where entry.name.first == UInt8(ascii: ".") {
            let name = "\(path)/\(String(decoding: entry.name, as: UTF8.self))"
            if entry.isDirectory == true { removeTree(name) } else { try? directory.unlink(entry.name) }
        }
        var sizes: [ContentKey: UInt64] = [:]
        for key in keys { sizes[key] = try? directory.status(Array("\(key)".utf8)).size }
        return sizes
    }
}

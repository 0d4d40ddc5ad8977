import Ledger
import Logging
import UploadCore

// Files that are processed before their upload.
extension AgentCore {
    /// Has a hashed file processed, if its type has a recipe. The path book learns of the result later.
    ///
    /// - Returns: whether the path book must not get this event.
    func divert(_ event: PathEvent) -> Bool {
        guard
            case .hashed(let path, let job, let began, .content(let identity, let type, let content, let digests)) =
                event,
            content.product == nil, !book.isPortrait(path)
        else { return false }
        let recipe = book.rules.recipes.recipe(for: type)
        if recipe.isEmpty { return false }
        guard book.expects(path, job: job) else {
            // Other names of the file would get the unprocessed content.
            take(.path(.hashed(path, job: job, as: began, .changed)))
            return true
        }
        let known = stored.product(of: content, recipe)
        if let known, let finished = finished(known) {
            let finding = HashFinding.content(identity, type, finished, digests: [])
            take(.path(.hashed(path, job: job, as: began, finding)))
            return true
        }
        let waiter = ProductQueue.Waiter(path: path, job: job, began: began, identity: identity)
        let original = ProductQueue.Original(type: type, content: content, digests: digests)
        handle(.hashed(waiter, original, recipe, known: known))
        return true
    }

    /// Returns the product of a content if the server confirmed the product and nobody needs its bytes. A file that is to
    /// leave the outbox is confirmed once more, and the server may have lost the content.
    private func finished(_ known: ProductRecord) -> DropContent? {
        guard book.rules.keepsFiles, var content = known.content,
            let confirmation = stored.confirmation(of: content.key),
            confirmation.seal == content.seal, !hasUpload(of: content.key)
        else { return nil }
        content.product = known.product
        return content
    }

    /// Passes an event to the queue of products.
    func handle(_ event: ProductQueue.Event) { carryOut(products.handle(event, now: now.monotonic)) }

    /// Lets go of files that the path book no longer expects.
    func releaseWaiters(after event: PathEvent) {
        if products.isEmpty { return }
        let paths: [RelativePath]? =
            switch event {
            case .processing, .hashing, .measured: []
            case .scanned, .mountLost, .outboxLost, .outboxBack, .tick: nil
            default: event.paths
            }
        if paths?.isEmpty == true { return }
        let mayReturn = if case .renamed = event { true } else { false }
        carryOut(release(paths, mayReturn: mayReturn))
    }

    private func release(_ paths: [RelativePath]?, mayReturn: Bool) -> [ProductQueue.Action] {
        products.release(paths, mayReturn: mayReturn, now: now.monotonic) { book.expects($0, job: $1) }
    }

    private func carryOut(_ actions: [ProductQueue.Action]) {
        for action in actions {
            switch action {
            case .make(let job): decision.perform(.makeProduct(job))
            case .stop(let id): decision.perform(.stopMaking(id: id))
            case .store(let record): write([.product(record)])
            case .tell(let waiter, let finding):
                take(.path(.hashed(waiter.path, job: waiter.job, as: waiter.began, finding)))
            case .tellProgress(let waiter, let progress):
                take(.path(.processing(waiter.path, job: waiter.job, progress)))
            case .release(let key): decision.performOnceDurable(.releaseProduct(key))
            case .problem(let message): decision.perform(.problem(.products, message))
            }
        }
    }

    /// Whether a stored product is still to be uploaded. If the ledger can't tell, the product stays until the next
    /// start.
    func needsProduct(_ key: ContentKey) -> Bool {
        // Uploads of other accounts are parked.
        if parked.isWanted(key) { return true }
        do throws(LedgerError) {
            return try needsUpload(of: key)
        } catch {
            stored.logger.warning(
                "a processed file is kept, because the ledger can't tell whether it was uploaded",
                metadata: ["product": "\(key)", "reason": "\(error)"])
            return true
        }
    }
}

/// Decides which products to make, and when. Events in, actions out.
///
/// Stands between hash and path book: a file whose type has a recipe waits here for its product. Then the path book
/// learns of the product as if the file held it. Files with the same bytes share one product.
///
/// A plain value without I/O, clock or randomness.
package struct ProductQueue: Sendable {
    /// Limits of the queue.
    package struct Limits: Sendable {
        /// How many pictures are processed at once.
        package var pictures: Int
        /// How many videos are processed at once.
        package var videos: Int
        /// Nothing new begins while the stored products have this many bytes.
        package var storedBytes: UInt64

        package init(pictures: Int = 1, videos: Int = 1, storedBytes: UInt64 = .max) {
            self.pictures = max(1, pictures)
            self.videos = max(1, videos)
            self.storedBytes = storedBytes
        }
    }

    /// A file that waits for a product.
    package struct Waiter: Equatable, Sendable {
        /// The path, and its hash job.
        package var path: RelativePath
        package var job: UInt64
        /// The identity of the file when the hash job began.
        package var began: FileIdentity
        /// The identity of the file that was hashed.
        package var identity: FileIdentity

        package init(path: RelativePath, job: UInt64, began: FileIdentity, identity: FileIdentity) {
            self.path = path
            self.job = job
            self.began = began
            self.identity = identity
        }
    }

    /// A content that has a recipe.
    package struct Original: Equatable, Sendable {
        package var type: MediaType
        package var content: DropContent
        package var digests: [UInt64]

        package init(type: MediaType, content: DropContent, digests: [UInt64]) {
            self.type = type
            self.content = content
            self.digests = digests
        }
    }

    /// What is needed to make a product.
    package struct Job: Equatable, Sendable {
        package var id: UInt64
        /// A file that holds the original.
        package var path: RelativePath
        package var identity: FileIdentity
        package var type: MediaType
        package var original: DropContent
        package var recipe: Recipe
        /// The product that was made of this content before. It may still be stored.
        package var known: ProductRecord?
        /// Whether an earlier attempt ran into a time limit.
        package var isSlow: Bool
    }

    /// Why an attempt failed, if not for the file's fault.
    package enum Failure: Equatable, Sendable {
        case other(String)
        /// A program took too long. A second time decides.
        case timeout(String)
        /// The disk is full. The attempt does not count.
        case diskFull(String)

        var reason: String {
            switch self {
            case .other(let reason), .timeout(let reason), .diskFull(let reason): reason
            }
        }

        /// How many attempts it counts for.
        var weight: Int {
            switch self {
            case .other: 1
            case .timeout: ProductQueue.attempts / 2
            case .diskFull: 0
            }
        }
    }

    package enum Event: Sendable {
        /// A file was hashed. `known` is what the recipe made of its content before.
        indirect case hashed(Waiter, Original, Recipe, known: ProductRecord?)
        /// This share of a product is made, 0 to 1.
        case progressed(id: UInt64, Double)
        /// A product is stored, or the recipe made nothing (`content` is nil). `error` says why not.
        indirect case made(id: UInt64, DropContent?, Product.Made?, digests: [UInt64], error: String?)
        /// No product can be made, and the file's own bytes must not be uploaded.
        case refused(id: UInt64, FileError)
        /// The file changed meanwhile.
        case changed(id: UInt64)
        /// Not the file's fault. The next attempt follows; after several, the outcome is `whenExhausted`.
        case failed(id: UInt64, Failure)
        /// A stored product is no longer needed.
        case released(ContentKey)
        /// Products that an earlier run stored.
        case found([ContentKey: UInt64])
        /// A deadline may have passed.
        case tick
    }

    package enum Action: Equatable, Sendable {
        /// Make a product.
        case make(Job)
        /// Stop making a product. No result follows.
        case stop(id: UInt64)
        /// Store what a recipe made.
        case store(ProductRecord)
        /// Tell the path book the result.
        case tell(Waiter, HashFinding)
        /// Tell the path book of progress.
        case tellProgress(Waiter, ProcessingProgress)
        /// Remove a stored product unless an upload needs it, once all changes are durable.
        case release(ContentKey)
        /// Report that products can't be made, or can be again (`nil`).
        case problem(String?)
    }

    /// A content under way.
    private struct Order: Sendable {
        enum Stage: Equatable, Sendable {
            case waiting
            case retrying(at: MonotonicTime)
            case making(Double)
        }

        var id: UInt64
        var original: Original
        var recipe: Recipe
        var known: ProductRecord?
        var waiters: [Waiter]
        var stage = Stage.waiting
        var attempts = 0
        /// Whether an attempt ran into a time limit.
        var isSlow = false
        /// When the last waiter left.
        var abandoned: MonotonicTime?
        /// Why the last attempt failed, until the next one begins.
        var obstacle: FileError?

        var progress: ProcessingProgress {
            if case .making(let share) = stage { return ProcessingProgress(share: share) }
            return ProcessingProgress(obstacle: obstacle)
        }
        var isVideo: Bool { original.type.kind == .video }
        var isMaking: Bool { if case .making = stage { true } else { false } }
        var name: Name { Name(key: original.content.key, seal: original.content.seal, recipe: recipe) }
    }

    /// What identifies an order.
    private struct Name: Hashable {
        var key: ContentKey
        var seal: ContentSeal
        var recipe: Recipe
    }

    /// The place of an order in a line: the slow ones come last, since they would hold up all others.
    private struct Turn: Comparable {
        var id: UInt64
        var isSlow: Bool

        static func < (left: Turn, right: Turn) -> Bool {
            left.isSlow == right.isSlow ? left.id < right.id : !left.isSlow
        }
    }

    /// How often an attempt may fail that is not the file's fault.
    static let attempts = 4
    static let pauses: [Duration] = [.seconds(5), .seconds(30), .seconds(120)]
    /// The pause until the next attempt if the disk is full.
    static let fullDiskPause = Duration.seconds(10)

    /// How long work continues that nobody waits for: a renamed file is hashed again under its new name.
    static let patience = Duration.seconds(30)

    private let limits: Limits
    private var orders: [UInt64: Order] = [:]
    private var names: [Name: UInt64] = [:]
    /// The orders of each path that waits.
    private var places: [RelativePath: Set<UInt64>] = [:]
    /// The orders that wait for a slot: of pictures, and of videos. Some may have gone.
    private var pictures = PriorityQueue<Turn>()
    private var videos = PriorityQueue<Turn>()
    /// The numbers of pictures and videos being processed.
    private var busyPictures = 0
    private var busyVideos = 0
    /// The orders that are being made.
    private var making: Set<UInt64> = []
    /// The orders that are to be looked at again at some time, because of a failure or because nobody waits for them.
    private var timed: Set<UInt64> = []
    /// The orders for whose products the disk had no room at the last attempt, and why.
    private var fullDisks: [UInt64: String] = [:]
    private var lastID: UInt64 = 0
    /// The stored products, with their sizes in bytes.
    private var stored: [ContentKey: UInt64] = [:]
    private var storedBytes: UInt64 = 0
    private var trouble: String?
    private var actions: [Action] = []

    package init(limits: Limits) {
        self.limits = limits
    }

    /// Whether no file waits.
    package var isEmpty: Bool { orders.isEmpty }

    /// The number of files that wait.
    package private(set) var waiterCount = 0

    /// Handles an event.
    package mutating func handle(_ event: Event, now: MonotonicTime) -> [Action] {
        switch event {
        case .hashed(let waiter, let original, let recipe, let known): add(waiter, original, recipe, known)
        case .progressed(let id, let share): progress(id, share)
        case .made(let id, let content, let made, let digests, let error):
            finish(id, content, made, digests, error: error)
        case .refused(let id, let error): refuse(id, error)
        case .changed(let id): end(id) { _ in { _ in .changed } }
        case .failed(let id, let failure): fail(id, failure, now: now)
        case .released(let key): if let size = stored.removeValue(forKey: key) { storedBytes -= min(size, storedBytes) }
        case .found(let products):
            for (key, size) in products {
                store(key, size)
                actions.append(.release(key))
            }
        case .tick: break
        }
        return conclude(now)
    }

    /// Lets go of waiters that the path book no longer expects.
    ///
    /// - Parameters:
    ///   - paths: the paths to check; nil checks all.
    ///   - mayReturn: whether the files may soon be hashed again under another name. Their work continues for a while.
    ///   - isExpected: whether the path book still waits for the result of this job.
    package mutating func release(
        _ paths: [RelativePath]?, mayReturn: Bool, now: MonotonicTime,
        unless isExpected: (RelativePath, UInt64) -> Bool
    ) -> [Action] {
        for path in paths ?? Array(places.keys) {
            for id in places[path] ?? [] {
                guard let order = orders[id] else { continue }
                let left = order.waiters.filter { $0.path == path && !isExpected($0.path, $0.job) }
                if left.isEmpty { continue }
                orders[id]?.waiters.removeAll(where: left.contains)
                waiterCount -= left.count
                // Other names of the file share the result of the hash.
                for waiter in left { actions.append(.tell(waiter, .changed)) }
                if orders[id]?.waiters.contains(where: { $0.path == path }) != true { leave(path, id) }
                if orders[id]?.waiters.isEmpty == true { abandon(id, mayReturn: mayReturn, now: now) }
            }
        }
        return conclude(now)
    }

    private mutating func abandon(_ id: UInt64, mayReturn: Bool, now: MonotonicTime) {
        let isMaking = orders[id]?.isMaking == true
        if isMaking, mayReturn {
            orders[id]?.abandoned = now
            timed.insert(id)
        } else {
            if isMaking { actions.append(.stop(id: id)) }
            forget(id)
        }
    }

    private mutating func leave(_ path: RelativePath, _ id: UInt64) {
        places[path]?.remove(id)
        if places[path]?.isEmpty == true { places[path] = nil }
    }

    /// Does what time or an event made possible, and returns all actions.
    private mutating func conclude(_ now: MonotonicTime) -> [Action] {
        for id in timed {
            if case .retrying(let at)? = orders[id]?.stage, at <= now { enqueue(id) }
            if let since = orders[id]?.abandoned, since + Self.patience <= now {
                actions.append(.stop(id: id))
                forget(id)
            }
        }
        begin()
        reportTrouble()
        defer { actions = [] }
        return actions
    }

    /// When the next `tick` is due.
    package var nextDeadline: MonotonicTime? {
        timed.compactMap { id in
            if case .retrying(let at)? = orders[id]?.stage { return at }
            return orders[id]?.abandoned.map { $0 + Self.patience }
        }.min()
    }

    /// Whether a product of this key is stored.
    package func isStored(_ key: ContentKey) -> Bool { stored[key] != nil }

    /// Whether a product of this key is stored, and no job under way may use it again. After such a job the queue
    /// asks once more for the removal.
    package func isRemovable(_ key: ContentKey) -> Bool {
        isStored(key) && !making.contains { orders[$0]?.known?.content?.key == key }
    }

    // MARK: Orders

    private mutating func add(_ waiter: Waiter, _ original: Original, _ recipe: Recipe, _ known: ProductRecord?) {
        if let known, known.content == nil {
            // The recipe makes nothing of this content.
            return actions.append(.tell(waiter, Self.finding(waiter, original, known.product)))
        }
        let name = Name(key: original.content.key, seal: original.content.seal, recipe: recipe)
        let id = names[name] ?? lastID + 1
        if orders[id] == nil {
            lastID = id
            orders[id] = Order(id: id, original: original, recipe: recipe, known: known, waiters: [])
            names[name] = id
            enqueue(id)
        }
        orders[id]?.waiters.append(waiter)
        orders[id]?.abandoned = nil
        places[waiter.path, default: []].insert(id)
        waiterCount += 1
        if orders[id]?.isMaking == true { timed.remove(id) }
        if let progress = orders[id]?.progress { actions.append(.tellProgress(waiter, progress)) }
    }

    private mutating func enqueue(_ id: UInt64) {
        timed.remove(id)
        orders[id]?.stage = .waiting
        let turn = Turn(id: id, isSlow: orders[id]?.isSlow == true)
        if orders[id]?.isVideo == true { videos.insert(turn) } else { pictures.insert(turn) }
    }

    private mutating func forget(_ id: UInt64) {
        stopMaking(id)
        guard let order = orders.removeValue(forKey: id) else { return }
        timed.remove(id)
        fullDisks[id] = nil
        names[order.name] = nil
        waiterCount -= order.waiters.count
        for waiter in order.waiters { leave(waiter.path, id) }
        // Its removal may have waited for this order.
        if let known = order.known?.content?.key, isStored(known) { actions.append(.release(known)) }
    }

    /// Frees the slot of an order.
    private mutating func stopMaking(_ id: UInt64) {
        guard let order = orders[id], order.isMaking else { return }
        making.remove(id)
        if order.isVideo { busyVideos -= 1 } else { busyPictures -= 1 }
        orders[id]?.stage = .waiting
    }

    /// Ends an order. `answer` returns the result for each waiter.
    private mutating func end(_ id: UInt64, _ answer: (Order) -> (Waiter) -> HashFinding) {
        guard let order = orders[id] else { return }
        forget(id)
        let finding = answer(order)
        for waiter in order.waiters { actions.append(.tell(waiter, finding(waiter))) }
    }

    private mutating func refuse(_ id: UInt64, _ error: FileError) {
        end(id) { order in
            let product = Product(
                original: order.original.content, recipe: order.recipe.text, made: nil, error: error.message)
            return { .failed($0.identity, order.original.type, product, error) }
        }
    }

    private mutating func progress(_ id: UInt64, _ share: Double) {
        guard let order = orders[id], case .making(let old) = order.stage, share - old >= 0.01 else { return }
        orders[id]?.stage = .making(share)
        tellProgress(id)
    }

    private mutating func tellProgress(_ id: UInt64) {
        guard let order = orders[id] else { return }
        for waiter in order.waiters { actions.append(.tellProgress(waiter, order.progress)) }
    }

    private mutating func finish(
        _ id: UInt64, _ content: DropContent?, _ made: Product.Made?, _ digests: [UInt64], error: String?
    ) {
        if let content, let made { store(content.key, made.size) }
        if let order = orders[id] {
            let product = Product(
                original: order.original.content, recipe: order.recipe.text, made: content == nil ? nil : made,
                error: error)
            let record = ProductRecord(product: product, content: content)
            // A failure may be due to a program that is installed later.
            if record != order.known, error == nil { actions.append(.store(record)) }
            end(id) { order in
                { waiter in
                    guard var content else { return Self.finding(waiter, order.original, product) }
                    content.product = product
                    return .content(waiter.identity, order.original.type, content, digests: digests)
                }
            }
        }
        // Perhaps no upload needs it: the server has the content, or nobody waits any more.
        if let content { actions.append(.release(content.key)) }
    }

    private static func finding(_ waiter: Waiter, _ original: Original, _ product: Product) -> HashFinding {
        var content = original.content
        content.product = product
        return .content(waiter.identity, original.type, content, digests: original.digests)
    }

    private mutating func fail(_ id: UInt64, _ failure: Failure, now: MonotonicTime) {
        guard let order = orders[id] else { return }
        if order.waiters.isEmpty { return forget(id) }
        let reason = failure.reason
        let attempts = order.attempts + failure.weight
        guard attempts < Self.attempts else { return giveUp(order, reason) }
        stopMaking(id)
        if case .timeout = failure { orders[id]?.isSlow = true }
        let isDiskFull = failure.weight == 0
        let pause = isDiskFull ? Self.fullDiskPause : Self.pauses[min(attempts, Self.pauses.count) - 1]
        orders[id]?.attempts = attempts
        fullDisks[id] = isDiskFull ? reason : nil
        orders[id]?.stage = .retrying(at: now + pause)
        orders[id]?.obstacle = isDiskFull ? .diskIsFull : .processingFailed(reason)
        timed.insert(id)
        tellProgress(id)
    }

    /// Gives up after several attempts. A file from which something can't be removed must not be uploaded.
    private mutating func giveUp(_ order: Order, _ reason: String) {
        if let removal = order.recipe.removal {
            refuse(order.id, .notRemoved(removal, reason))
        } else {
            finish(order.id, nil, nil, [], error: reason)
        }
    }

    private mutating func store(_ key: ContentKey, _ size: UInt64) {
        if let old = stored.updateValue(size, forKey: key) { storedBytes -= min(old, storedBytes) }
        storedBytes += size
    }

    // MARK: Turns

    /// Begins as many orders as the limits allow, in the order of their arrival; slow ones last.
    private mutating func begin() {
        while storedBytes < limits.storedBytes, busyPictures < limits.pictures, let turn = pictures.removeFirst() {
            make(turn.id)
        }
        while storedBytes < limits.storedBytes, busyVideos < limits.videos, let turn = videos.removeFirst() {
            make(turn.id)
        }
    }

    private mutating func make(_ id: UInt64) {
        guard let order = orders[id], order.stage == .waiting, let waiter = order.waiters.first else { return }
        orders[id]?.stage = .making(0)
        making.insert(id)
        if order.isVideo { busyVideos += 1 } else { busyPictures += 1 }
        if order.obstacle != nil {
            orders[id]?.obstacle = nil
            tellProgress(id)
        }
        actions.append(
            .make(
                Job(
                    id: id, path: waiter.path, identity: waiter.identity, type: order.original.type,
                    original: order.original.content, recipe: order.recipe, known: order.known, isSlow: order.isSlow)))
    }

    /// Reports why files wait, if a person can help.
    private mutating func reportTrouble() {
        var message: String?
        if let reason = fullDisks.values.first {
            message = "files can't be processed before their upload: \(reason); make room on the disk"
        } else if storedBytes >= limits.storedBytes, !orders.isEmpty, busyPictures + busyVideos == 0 {
            message =
                "\(waiterCount) files wait to be processed: processed files that wait for their upload have reached "
                + "media.products_max_size; resume paused uploads, or raise the limit"
        }
        if message == trouble || (message == nil) == (trouble == nil) { return }
        trouble = message
        actions.append(.problem(message))
    }
}

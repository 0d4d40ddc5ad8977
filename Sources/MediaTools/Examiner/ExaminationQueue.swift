public import LinuxSystem
public import UploadCore

/// Examines files beside their uploads, a few at a time: what is known of all files first, thumbnails after.
///
/// What waits is small, and opened only when its turn has come: ten thousand files are no ten thousand descriptors.
public actor ExaminationQueue {
    /// A file to be examined.
    public struct Request: Sendable {
        /// The content's key.
        public var key: ContentKey
        /// As its first bytes tell.
        public var type: MediaType
        /// Opens the file for reading; nil where it is gone or no longer the same.
        public var open: @Sendable () async -> SharedDescriptor?

        /// A request.
        public init(key: ContentKey, type: MediaType, open: @escaping @Sendable () async -> SharedDescriptor?) {
            self.key = key
            self.type = type
            self.open = open
        }
    }

    /// Takes what is known of a content, and whether asking again would answer the same.
    public typealias Report = @Sendable (ContentKey, MediaFacts, _ isFinal: Bool) async -> Void

    /// More requests than this do not wait.
    public static let capacity = 100_000

    private let examiner: MediaExaminer
    private let atOnce: Int
    private let report: Report
    private var measuring = RequestLine()
    private var drawing = RequestLine()
    private var running: [Int: Task<Void, Never>] = [:]
    private var started = 0
    private var isOver = false

    /// - Parameters:
    ///   - examiner: does the work.
    ///   - atOnce: how many files at a time.
    ///   - report: called once for each request whose file could be opened.
    public init(examiner: MediaExaminer, atOnce: Int = 2, report: @escaping Report) {
        self.examiner = examiner
        self.atOnce = max(1, atOnce)
        self.report = report
    }

    /// Takes a request. One for a content that waits already is left out, as is one of a type nothing is known about.
    ///
    /// - Returns: false where too many wait; nothing will be known of this one then.
    @discardableResult
    public func add(_ request: Request) -> Bool {
        if isOver || !MediaExaminer.takes(request.type) || measuring.has(request.key) { return true }
        if measuring.count + drawing.count >= Self.capacity { return false }
        measuring.append(request, duration: nil)
        startMore()
        return true
    }

    /// Forgets a content that waits.
    public func remove(_ key: ContentKey) {
        measuring.remove(key)
        drawing.remove(key)
    }

    /// How many requests wait or are being worked on; a request counts until its thumbnail is made.
    public var pending: Int { measuring.count + drawing.count + running.count }

    /// Stops: what runs is cancelled, what waits is dropped. Returns once nothing runs.
    public func shutdown() async {
        isOver = true
        measuring = RequestLine()
        drawing = RequestLine()
        let tasks = running.values
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func startMore() {
        while !isOver, running.count < atOnce {
            if let (request, _) = measuring.next() {
                run { await $0.measure(request) }
            } else if let (request, duration) = drawing.next() {
                run { await $0.draw(request, duration: duration) }
            } else {
                return
            }
        }
    }

    private func run(_ work: @escaping @Sendable (ExaminationQueue) async -> Void) {
        started += 1
        let id = started
        running[id] = Task {
            await work(self)
            running[id] = nil
            startMore()
        }
    }

    private func measure(_ request: Request) async {
        guard let file = await request.open() else { return }
        let (facts, isFinal) = await examiner.facts(of: file, request.type)
        if isOver { return }
        await report(request.key, facts, isFinal)
        if !isOver, !drawing.has(request.key) { drawing.append(request, duration: facts.duration) }
    }

    private func draw(_ request: Request, duration: Double?) async {
        guard let file = await request.open() else { return }
        _ = await examiner.makeThumbnail(of: file, request.type, key: request.key, duration: duration)
    }
}

/// Requests in the order they came, one for each content.
private struct RequestLine {
    private var waiting: [ContentKey: (request: ExaminationQueue.Request, duration: Double?)] = [:]
    private var order: [ContentKey] = []
    private var head = 0

    var count: Int { waiting.count }

    func has(_ key: ContentKey) -> Bool { waiting[key] != nil }

    mutating func append(_ request: ExaminationQueue.Request, duration: Double?) {
        waiting[request.key] = (request, duration)
        order.append(request.key)
    }

    /// Its place in the order is passed over later.
    mutating func remove(_ key: ContentKey) {
        waiting[key] = nil
    }

    mutating func next() -> (request: ExaminationQueue.Request, duration: Double?)? {
        while head < order.count {
            let key = order[head]
            head += 1
            if head > 1024, head * 2 > order.count {
                order.removeFirst(head)
                head = 0
            }
            if let found = waiting.removeValue(forKey: key) { return found }
        }
        return nil
    }
}

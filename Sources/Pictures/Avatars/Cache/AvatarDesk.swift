import PictureJobs

/// Tracks the waiters for pictures, and decides on jobs: one download for each address, then one drawing for each
/// style. A state machine and a value: events in, actions out.
struct AvatarDesk {
    /// A caller that waits for one picture.
    struct Waiter: Hashable {
        let number: UInt64
    }

    /// A download or a drawing. The end of an unknown job changes nothing.
    struct Job: Hashable {
        let number: UInt64
    }

    /// Output of the desk.
    enum Action: Equatable {
        /// Fetch or revalidate the original of an address.
        case download(AvatarAddress, Job)
        /// Draw the stored original.
        case draw(AvatarWish, Job)
        /// Cancel a job that is no longer needed.
        case stop(Job)
        /// Deliver the picture in the store to these waiters.
        case deliver(AvatarWish, Set<Waiter>)
        /// Report a failure to these waiters.
        case fail(Set<Waiter>, AvatarFailure)
    }

    /// The request of a waiter.
    private struct Request {
        var wish: AvatarWish
        var isUrgent: Bool
        /// Whether to download if the original to draw is missing.
        var mayDownload = true
    }

    private struct Download {
        /// nil while the download waits for its turn.
        var job: Job?
        var isUrgent: Bool
        var waiters: [PictureStyle: Set<Waiter>] = [:]
    }

    private struct Drawing {
        /// nil while the drawing waits for its turn.
        var job: Job?
        var isUrgent: Bool
        var waiters: Set<Waiter>
    }

    private enum Work {
        case download(AvatarAddress)
        case drawing(AvatarWish)
    }

    /// Maximum number of concurrent drawings; each holds two open files.
    static let maximumDrawings = 8

    private var requests: [Waiter: Request] = [:]
    private var downloads: [AvatarAddress: Download] = [:]
    private var drawings: [AvatarWish: Drawing] = [:]
    private var work: [Job: Work] = [:]
    private var downloadTurns: Turns<AvatarAddress>
    private var drawingTurns = Turns<AvatarWish>(maximum: AvatarDesk.maximumDrawings)
    private var lastJob: UInt64 = 0

    /// Creates a desk without waiters.
    ///
    /// - Parameter maximumDownloads: Maximum number of concurrent downloads; at least 1.
    init(maximumDownloads: Int) {
        downloadTurns = Turns(maximum: maximumDownloads)
    }

    /// Addresses with waiters.
    var awaited: Set<AvatarAddress> { Set(requests.values.map(\.wish.address)) }

    /// Whether no work is in progress.
    var isIdle: Bool { requests.isEmpty && work.isEmpty && downloads.isEmpty && drawings.isEmpty }

    // MARK: Waiters

    /// Adds a waiter for a picture whose original is missing or stale.
    ///
    /// - Parameter isUrgent: Whether the download goes before others that wait for their turn.
    mutating func download(_ wish: AvatarWish, for waiter: Waiter, isUrgent: Bool) -> [Action] {
        requests[waiter] = Request(wish: wish, isUrgent: isUrgent)
        if downloads[wish.address] == nil {
            downloads[wish.address] = Download(isUrgent: isUrgent)
            downloadTurns.append(wish.address, isUrgent: isUrgent)
        } else if isUrgent, downloads[wish.address]?.isUrgent == false {
            downloads[wish.address]?.isUrgent = true
            downloadTurns.promote(wish.address)
        }
        downloads[wish.address]?.waiters[wish.style, default: []].insert(waiter)
        return startJobs()
    }

    /// Adds a waiter for a picture whose original is in the store.
    ///
    /// - Parameters:
    ///   - isUrgent: Whether the drawing goes before others that wait for their turn.
    ///   - mayDownload: Whether to download if the original turns out to be missing.
    mutating func draw(_ wish: AvatarWish, for waiter: Waiter, isUrgent: Bool, mayDownload: Bool = true) -> [Action] {
        requests[waiter] = Request(wish: wish, isUrgent: isUrgent, mayDownload: mayDownload)
        return draw(wish, for: [waiter]) + startJobs()
    }

    /// Removes a waiter. Other waiters still get their pictures; jobs without waiters are stopped.
    mutating func leave(_ waiter: Waiter) -> [Action] {
        guard let wish = requests.removeValue(forKey: waiter)?.wish else { return [] }
        var actions: [Action] = [.fail([waiter], .cancelled)]
        if drawings[wish]?.waiters.remove(waiter) != nil, drawings[wish]?.waiters.isEmpty == true {
            actions += stopDrawing(wish)
        }
        if downloads[wish.address]?.waiters[wish.style]?.remove(waiter) != nil {
            if downloads[wish.address]?.waiters[wish.style]?.isEmpty == true {
                downloads[wish.address]?.waiters[wish.style] = nil
            }
            if downloads[wish.address]?.waiters.isEmpty == true { actions += stopDownload(wish.address) }
        }
        return actions + startJobs()
    }

    // MARK: Jobs

    /// Whether a job still has waiters.
    func isWanted(_ job: Job) -> Bool { work[job] != nil }

    /// Whether a job has an urgent waiter.
    func isUrgent(_ job: Job) -> Bool {
        switch work[job] {
        case .download(let address): downloads[address]?.isUrgent ?? false
        case .drawing(let wish): drawings[wish]?.isUrgent ?? false
        case nil: false
        }
    }

    /// Handles a finished download: the original is fresh or at least usable. Draws it for all waiters.
    ///
    /// - Parameter isNew: Whether the original changed.
    mutating func downloadSucceeded(_ job: Job, isNew: Bool) -> [Action] {
        guard let (address, download) = endDownload(job) else { return [] }
        var actions = isNew ? contentChanged(address) : []
        for (style, waiters) in download.waiters {
            actions += draw(AvatarWish(address: address, style: style), for: waiters)
        }
        return actions + startJobs()
    }

    /// Handles a failed download without an original.
    ///
    /// - Parameter isDrawn: Whether the store has a styled picture, drawn from an original that is now missing.
    mutating func downloadFailed(
        _ job: Job, _ failure: AvatarFailure, isDrawn: (AvatarWish) -> Bool = { _ in false }
    ) -> [Action] {
        guard let (address, download) = endDownload(job) else { return [] }
        var actions: [Action] = []
        var disappointed: Set<Waiter> = []
        for (style, waiters) in download.waiters {
            for waiter in waiters { requests[waiter] = nil }
            let wish = AvatarWish(address: address, style: style)
            if isDrawn(wish) { actions.append(.deliver(wish, waiters)) } else { disappointed.formUnion(waiters) }
        }
        if !disappointed.isEmpty { actions.append(.fail(disappointed, failure)) }
        return actions + startJobs()
    }

    /// Handles the end of a drawing: the styled picture is in the store, or the drawing failed.
    mutating func drawingEnded(_ job: Job, failure: AvatarFailure? = nil) -> [Action] {
        guard case .drawing(let wish) = work.removeValue(forKey: job),
            let drawing = drawings.removeValue(forKey: wish)
        else { return [] }
        drawingTurns.remove(wish)
        for waiter in drawing.waiters { requests[waiter] = nil }
        return [failure.map { .fail(drawing.waiters, $0) } ?? .deliver(wish, drawing.waiters)] + startJobs()
    }

    // MARK: Changes in the store

    /// Handles a changed original: restarts its drawings.
    mutating func contentChanged(_ address: AvatarAddress) -> [Action] {
        var actions: [Action] = []
        for wish in drawings.keys.filter({ $0.address == address }) { actions += restartDrawing(wish) }
        return actions
    }

    /// Handles a removed original: its drawings become downloads, or fail where downloads are not allowed. A
    /// revalidation starts over as a full request.
    mutating func contentRemoved(_ address: AvatarAddress) -> [Action] {
        var actions: [Action] = []
        if let job = downloads[address]?.job {
            work[job] = nil
            let next = newJob(.download(address))
            downloads[address]?.job = next
            actions = [.stop(job), .download(address, next)]
        }
        for wish in drawings.keys.filter({ $0.address == address }) {
            let waiters = drawings[wish]?.waiters ?? []
            actions += stopDrawing(wish)
            for waiter in waiters {
                guard let request = requests[waiter] else { continue }
                if request.mayDownload {
                    actions += download(wish, for: waiter, isUrgent: request.isUrgent)
                } else {
                    requests[waiter] = nil
                    actions.append(.fail([waiter], .storage("\(address.url): the picture was removed meanwhile")))
                }
            }
        }
        return actions + startJobs()
    }

    // MARK: Starting and stopping

    private mutating func draw(_ wish: AvatarWish, for waiters: Set<Waiter>) -> [Action] {
        if wish.style.isOriginal {
            for waiter in waiters { requests[waiter] = nil }
            return [.deliver(wish, waiters)]
        }
        let isUrgent = waiters.contains { requests[$0]?.isUrgent == true }
        guard let drawing = drawings[wish] else {
            drawings[wish] = Drawing(isUrgent: isUrgent, waiters: waiters)
            drawingTurns.append(wish, isUrgent: isUrgent)
            return []
        }
        drawings[wish]?.waiters.formUnion(waiters)
        if !isUrgent || drawing.isUrgent { return [] }
        drawings[wish]?.isUrgent = true
        drawingTurns.promote(wish)
        // The earlier drawing without urgency may wait in a long queue.
        return restartDrawing(wish)
    }

    /// Restarts a running drawing. A drawing that waits for its turn keeps waiting.
    private mutating func restartDrawing(_ wish: AvatarWish) -> [Action] {
        guard let job = drawings[wish]?.job else { return [] }
        work[job] = nil
        let next = newJob(.drawing(wish))
        drawings[wish]?.job = next
        return [.stop(job), .draw(wish, next)]
    }

    private mutating func startJobs() -> [Action] {
        var actions: [Action] = []
        while let address = downloadTurns.next() {
            let job = newJob(.download(address))
            downloads[address]?.job = job
            actions.append(.download(address, job))
        }
        while let wish = drawingTurns.next() {
            let job = newJob(.drawing(wish))
            drawings[wish]?.job = job
            actions.append(.draw(wish, job))
        }
        return actions
    }

    private mutating func endDownload(_ job: Job) -> (AvatarAddress, Download)? {
        guard case .download(let address) = work.removeValue(forKey: job),
            let download = downloads.removeValue(forKey: address)
        else { return nil }
        downloadTurns.remove(address)
        return (address, download)
    }

    private mutating func stopDownload(_ address: AvatarAddress) -> [Action] {
        guard let download = downloads.removeValue(forKey: address) else { return [] }
        downloadTurns.remove(address)
        return stop(download.job)
    }

    private mutating func stopDrawing(_ wish: AvatarWish) -> [Action] {
        guard let drawing = drawings.removeValue(forKey: wish) else { return [] }
        drawingTurns.remove(wish)
        return stop(drawing.job)
    }

    private mutating func stop(_ job: Job?) -> [Action] {
        guard let job else { return [] }
        work[job] = nil
        return [.stop(job)]
    }

    private mutating func newJob(_ kind: Work) -> Job {
        lastJob += 1
        let job = Job(number: lastJob)
        work[job] = kind
        return job
    }
}

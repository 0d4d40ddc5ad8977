import PictureJobs

/// Who waits for which picture, and what has to be done for them: one download for each address, then one drawing for
/// each style. A value: events go in, actions come out.
struct AvatarDesk {
    /// Somebody who waits for one picture.
    struct Waiter: Hashable {
        let number: UInt64
    }

    /// A download or a drawing. What ends under a number that is no longer known changes nothing.
    struct Job: Hashable {
        let number: UInt64
    }

    /// A picture in a style.
    struct Wish: Hashable {
        var address: AvatarAddress
        var style: PictureStyle
    }

    /// What has to be done.
    enum Action: Equatable {
        /// Bring the original of an address up to date.
        case download(AvatarAddress, Job)
        /// Draw the original that is kept.
        case draw(Wish, Job)
        /// Nobody needs this job any more.
        case stop(Job)
        /// The picture is in the store, for all of these.
        case deliver(Wish, Set<Waiter>)
        /// All of these get nothing.
        case fail(Set<Waiter>, AvatarFailure)
    }

    private struct Download {
        /// nil while it waits for its turn.
        var job: Job?
        var isUrgent: Bool
        var waiters: [PictureStyle: Set<Waiter>] = [:]
    }

    private struct Drawing {
        var job: Job
        var waiters: Set<Waiter>
    }

    private enum Work {
        case download(AvatarAddress)
        case drawing(Wish)
    }

    private let maximumDownloads: Int
    private var wishes: [Waiter: Wish] = [:]
    private var downloads: [AvatarAddress: Download] = [:]
    private var drawings: [Wish: Drawing] = [:]
    private var work: [Job: Work] = [:]
    private var queue = DownloadQueue()
    private var running = 0
    private var lastJob: UInt64 = 0

    /// A desk with nobody at it.
    ///
    /// - Parameter maximumDownloads: how many run at once; at least 1.
    init(maximumDownloads: Int) {
        self.maximumDownloads = max(maximumDownloads, 1)
    }

    /// Whether nothing is under way.
    var isIdle: Bool { wishes.isEmpty && work.isEmpty && downloads.isEmpty && drawings.isEmpty }

    // MARK: Waiters

    /// Somebody needs a picture whose original is not there, or not up to date.
    ///
    /// - Parameter isUrgent: goes before those that are not, while downloads wait for their turn.
    mutating func download(_ wish: Wish, for waiter: Waiter, isUrgent: Bool) -> [Action] {
        wishes[waiter] = wish
        if downloads[wish.address] == nil {
            downloads[wish.address] = Download(isUrgent: isUrgent)
            queue.append(wish.address, isUrgent: isUrgent)
        } else if isUrgent, downloads[wish.address]?.isUrgent == false {
            downloads[wish.address]?.isUrgent = true
            queue.promote(wish.address)
        }
        downloads[wish.address]?.waiters[wish.style, default: []].insert(waiter)
        return startDownloads()
    }

    /// Somebody needs a picture whose original is there.
    mutating func draw(_ wish: Wish, for waiter: Waiter) -> [Action] {
        wishes[waiter] = wish
        return draw(wish, for: [waiter])
    }

    /// Somebody gave up; the others still get theirs, and what nobody waits for is stopped.
    mutating func leave(_ waiter: Waiter) -> [Action] {
        guard let wish = wishes.removeValue(forKey: waiter) else { return [] }
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
        return actions + startDownloads()
    }

    // MARK: Jobs

    /// Whether a job still matters to anybody.
    func isWanted(_ job: Job) -> Bool { work[job] != nil }

    /// The original is up to date, or at least there is one that will do: now it is drawn for everybody.
    ///
    /// - Parameter isNew: whether it is another one than before.
    mutating func downloadSucceeded(_ job: Job, isNew: Bool) -> [Action] {
        guard let (address, download) = endDownload(job) else { return [] }
        var actions = isNew ? contentChanged(address) : []
        for (style, waiters) in download.waiters {
            actions += draw(Wish(address: address, style: style), for: waiters)
        }
        return actions + startDownloads()
    }

    /// There is no original.
    mutating func downloadFailed(_ job: Job, _ failure: AvatarFailure) -> [Action] {
        guard let (_, download) = endDownload(job) else { return [] }
        let waiters = download.waiters.values.reduce(into: Set()) { $0.formUnion($1) }
        for waiter in waiters { wishes[waiter] = nil }
        return [.fail(waiters, failure)] + startDownloads()
    }

    /// The styled picture is in the store, or can't be drawn.
    mutating func drawingEnded(_ job: Job, failure: AvatarFailure? = nil) -> [Action] {
        guard case .drawing(let wish) = work.removeValue(forKey: job),
            let drawing = drawings.removeValue(forKey: wish)
        else { return [] }
        for waiter in drawing.waiters { wishes[waiter] = nil }
        return [failure.map { .fail(drawing.waiters, $0) } ?? .deliver(wish, drawing.waiters)]
    }

    // MARK: The store changed under our feet

    /// An address has another original: what is being drawn from the old one is drawn again.
    mutating func contentChanged(_ address: AvatarAddress) -> [Action] {
        restarted(drawings.keys.filter { $0.address == address }) { desk, wish, waiters in
            desk.draw(wish, for: waiters)
        }
    }

    /// An address has no original any more: what was to be drawn from it is downloaded, and a question whether it is
    /// still the right one is asked anew, without reference to it.
    mutating func contentRemoved(_ address: AvatarAddress) -> [Action] {
        var actions: [Action] = []
        if let job = downloads[address]?.job {
            work[job] = nil
            let next = newJob(.download(address))
            downloads[address]?.job = next
            actions = [.stop(job), .download(address, next)]
        }
        return actions
            + restarted(drawings.keys.filter { $0.address == address }) { desk, wish, waiters in
                waiters.flatMap { desk.download(wish, for: $0, isUrgent: true) }
            }
    }

    private mutating func restarted(
        _ wishes: [Wish], _ restart: (inout AvatarDesk, Wish, Set<Waiter>) -> [Action]
    ) -> [Action] {
        var actions: [Action] = []
        for wish in wishes {
            guard let drawing = drawings.removeValue(forKey: wish) else { continue }
            work[drawing.job] = nil
            actions.append(.stop(drawing.job))
            actions += restart(&self, wish, drawing.waiters)
        }
        return actions
    }

    // MARK: Parts

    private mutating func draw(_ wish: Wish, for waiters: Set<Waiter>) -> [Action] {
        if wish.style.isOriginal {
            for waiter in waiters { wishes[waiter] = nil }
            return [.deliver(wish, waiters)]
        }
        if drawings[wish] != nil {
            drawings[wish]?.waiters.formUnion(waiters)
            return []
        }
        let job = newJob(.drawing(wish))
        drawings[wish] = Drawing(job: job, waiters: waiters)
        return [.draw(wish, job)]
    }

    private mutating func startDownloads() -> [Action] {
        var actions: [Action] = []
        while running < maximumDownloads, let address = queue.popFirst() {
            let job = newJob(.download(address))
            downloads[address]?.job = job
            running += 1
            actions.append(.download(address, job))
        }
        return actions
    }

    private mutating func endDownload(_ job: Job) -> (AvatarAddress, Download)? {
        guard case .download(let address) = work.removeValue(forKey: job),
            let download = downloads.removeValue(forKey: address)
        else { return nil }
        running -= 1
        return (address, download)
    }

    private mutating func stopDownload(_ address: AvatarAddress) -> [Action] {
        guard let download = downloads.removeValue(forKey: address) else { return [] }
        guard let job = download.job else {
            queue.remove(address)
            return []
        }
        work[job] = nil
        running -= 1
        return [.stop(job)]
    }

    private mutating func stopDrawing(_ wish: Wish) -> [Action] {
        guard let drawing = drawings.removeValue(forKey: wish) else { return [] }
        work[drawing.job] = nil
        return [.stop(drawing.job)]
    }

    private mutating func newJob(_ kind: Work) -> Job {
        lastJob += 1
        let job = Job(number: lastJob)
        work[job] = kind
        return job
    }
}

import UploadCore

/// What runs for the wanted pictures, beside the plan that says what should.
struct WantedKeeper {
    var plan: WantedPlan
    /// What was wanted when the file could be read last.
    var wishes: [AvatarDesk.Wish] = []
    /// Lines that were complained about.
    var told: Set<WantedList.Problem> = []

    private var tasks: [AvatarDesk.Wish: (number: UInt64, task: Task<Void, Never>)] = [:]
    private var lastNumber: UInt64 = 0
    private var alarm: Task<Void, Never>?
    private var alarmTime: MonotonicTime?

    init(plan: WantedPlan) {
        self.plan = plan
    }

    /// A number that tells one look after a picture from the next.
    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    mutating func started(_ wish: AvatarDesk.Wish, _ number: UInt64, _ task: Task<Void, Never>) {
        tasks[wish] = (number, task)
    }

    mutating func ended(_ wish: AvatarDesk.Wish, _ number: UInt64, _ outcome: WantedPlan.Outcome, now: MonotonicTime) {
        guard tasks[wish]?.number == number else { return }
        tasks[wish] = nil
        plan.ended(wish, outcome, now: now)
    }

    /// Gives up what is no longer wanted.
    mutating func stop(_ wishes: [AvatarDesk.Wish]) {
        for wish in wishes { tasks.removeValue(forKey: wish)?.task.cancel() }
    }

    /// Gives up what is under way; it ends as interrupted, and comes again later.
    func stopAll() {
        for (_, task) in tasks.values { task.cancel() }
    }

    /// The alarm went off.
    mutating func alarmRang() { alarmTime = nil }

    /// Wakes when the plan has something to do, and not before.
    mutating func setAlarm(
        now: MonotonicTime, _ clock: AvatarClock, _ mailbox: AsyncStream<AvatarCache.WantedSignal>.Continuation
    ) {
        let due = plan.nextDue
        if due == alarmTime { return }
        alarm?.cancel()
        alarmTime = due
        alarm = due.map { due in
            Task {
                // Cancelled: another alarm took its place.
                if (try? await clock.sleep(max(due - now, .zero))) != nil { mailbox.yield(.due) }
            }
        }
    }

    /// The end of everything.
    mutating func end() {
        stopAll()
        alarm?.cancel()
    }
}

import SystemPackage
import UploadCore

/// The running tasks for wanted pictures, and the plan that decides on them.
struct WantedKeeper {
    var plan: WantedPlan
    /// The wishes of the last successful read of the file.
    var wishes: [AvatarWish] = []
    /// Lines already reported.
    var told: Set<WantedList.Problem> = []

    private var tasks: [AvatarWish: (number: UInt64, task: Task<Void, Never>)] = [:]
    private var lastNumber: UInt64 = 0
    private var alarm: Task<Void, Never>?
    private var alarmTime: MonotonicTime?

    init(plan: WantedPlan) {
        self.plan = plan
    }

    /// A number that identifies one task.
    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    mutating func started(_ wish: AvatarWish, _ number: UInt64, _ task: Task<Void, Never>) {
        tasks[wish] = (number, task)
    }

    mutating func ended(_ wish: AvatarWish, _ number: UInt64, _ outcome: WantedPlan.Outcome, now: MonotonicTime) {
        guard tasks[wish]?.number == number else { return }
        tasks[wish] = nil
        plan.ended(wish, outcome, now: now)
    }

    /// Cancels tasks that are no longer wanted.
    mutating func stop(_ wishes: [AvatarWish]) {
        for wish in wishes { tasks.removeValue(forKey: wish)?.task.cancel() }
    }

    /// Cancels all tasks. They end as interrupted and run again later.
    func stopAll() {
        for (_, task) in tasks.values { task.cancel() }
    }

    /// Handles the alarm.
    mutating func alarmRang() { alarmTime = nil }

    /// Sets the alarm to the time when the plan next has work.
    mutating func setAlarm(
        now: MonotonicTime, _ clock: AvatarClock, _ mailbox: AsyncStream<WantedSignal>.Continuation
    ) {
        let due = plan.nextDue
        if due == alarmTime { return }
        alarm?.cancel()
        alarmTime = due
        alarm = due.map { due in
            Task {
                // If cancelled, another alarm has replaced this one.
                if (try? await clock.sleep(max(due - now, .zero))) != nil { mailbox.yield(.due) }
            }
        }
    }

    /// Cancels all tasks and the alarm.
    mutating func end() {
        stopAll()
        alarm?.cancel()
    }
}

/// A signal to the maintenance of wanted pictures.
enum WantedSignal: Sendable {
    case listRead(Result<WantedList, Errno>)
    case due
    case ended(AvatarWish, number: UInt64, WantedPlan.Outcome)
    case lowMemory
    case networkChanged
    /// These addresses were removed from the mirror, or their failures were forgotten.
    case forgotten(Set<AvatarAddress>)
}

import Testing
import UploadCore

@testable import SystemdService

@Suite("Plan of notifications to the service manager")
struct NotifyPlanTests {
    private static func at(_ seconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: UInt64(1000 + seconds) * 1_000_000_000)
    }

    private func ready(watchdog: Duration?) -> NotifyPlan {
        var plan = NotifyPlan(watchdog: watchdog)
        _ = plan.handle(.ready, at: Self.at(0))
        return plan
    }

    @Test("ready is sent at once, followed by the agent's status")
    func ready() {
        var plan = NotifyPlan(watchdog: nil)
        #expect(plan.handle(.ready, at: Self.at(0)) == [.send(["READY=1"]), .ask])
        #expect(plan.handle(.answered(status: "nothing to do"), at: Self.at(0)) == [.send(["STATUS=nothing to do"])])
    }

    @Test("an idle agent without a watchdog is never woken")
    func idle() {
        var plan = ready(watchdog: nil)
        let actions = plan.handle(.answered(status: "nothing to do"), at: Self.at(0))
        #expect(!actions.contains { if case .wake = $0 { true } else { false } })
    }

    @Test("the watchdog is fed with each answer, and the agent is asked again after half of its time")
    func watchdog() {
        var plan = NotifyPlan(watchdog: .seconds(120))
        #expect(plan.handle(.ready, at: Self.at(0)) == [.send(["READY=1"]), .ask, .wake(at: Self.at(60))])
        #expect(plan.handle(.answered(status: "a"), at: Self.at(1)) == [.send(["WATCHDOG=1", "STATUS=a"])])
        #expect(plan.handle(.due, at: Self.at(60)) == [.ask, .wake(at: Self.at(120))])
        #expect(plan.handle(.answered(status: "a"), at: Self.at(60)) == [.send(["WATCHDOG=1"])])
    }

    @Test("an agent that does not answer feeds no watchdog, and is reported once")
    func silence() {
        var plan = ready(watchdog: .seconds(120))
        #expect(plan.handle(.due, at: Self.at(60)) == [.complain(silentFor: .seconds(60))])
        #expect(plan.handle(.changed, at: Self.at(70)) == [])
        #expect(plan.handle(.due, at: Self.at(120)) == [])
        #expect(
            plan.handle(.answered(status: "late"), at: Self.at(130)).first == .send(["WATCHDOG=1", "STATUS=late"]))
    }

    @Test("changes are sent at most every five seconds, and the last one is not lost")
    func pacing() {
        var plan = ready(watchdog: nil)
        _ = plan.handle(.answered(status: "a"), at: Self.at(0))
        #expect(plan.handle(.changed, at: Self.at(1)) == [.wake(at: Self.at(5))])
        #expect(plan.handle(.changed, at: Self.at(2)) == [])
        #expect(plan.handle(.due, at: Self.at(5)) == [.ask])
        #expect(plan.handle(.answered(status: "b"), at: Self.at(5)) == [.send(["STATUS=b"])])
        #expect(plan.handle(.changed, at: Self.at(60)) == [.ask])
    }

    @Test("a change during a question leads to another question")
    func changeMeanwhile() {
        var plan = ready(watchdog: nil)
        #expect(plan.handle(.changed, at: Self.at(1)) == [])
        #expect(
            plan.handle(.answered(status: "a"), at: Self.at(2)) == [.send(["STATUS=a"]), .wake(at: Self.at(5))])
    }

    @Test("an unchanged status is not sent again")
    func unchanged() {
        var plan = ready(watchdog: nil)
        _ = plan.handle(.answered(status: "a"), at: Self.at(0))
        _ = plan.handle(.changed, at: Self.at(10))
        #expect(plan.handle(.answered(status: "a"), at: Self.at(10)) == [])
    }

    @Test("a reload begins with its time and ends with ready")
    func reload() {
        var plan = ready(watchdog: nil)
        _ = plan.handle(.answered(status: "a"), at: Self.at(0))
        #expect(
            plan.handle(.reloading(monotonicMicroseconds: 42), at: Self.at(10))
                == [.send(["RELOADING=1", "MONOTONIC_USEC=42", "STATUS=reloading the configuration"])])
        #expect(plan.handle(.ready, at: Self.at(11)) == [.send(["READY=1"]), .ask])
        #expect(plan.handle(.answered(status: "a"), at: Self.at(11)) == [.send(["STATUS=a"])])
    }

    @Test("nothing is sent after the end has begun")
    func stopping() {
        var plan = ready(watchdog: .seconds(10))
        guard case .send(let lines)? = plan.handle(.stopping, at: Self.at(1)).first else {
            Issue.record("nothing was sent")
            return
        }
        #expect(lines.first == "STOPPING=1")
        #expect(plan.handle(.answered(status: "a"), at: Self.at(2)) == [])
        #expect(plan.handle(.ready, at: Self.at(2)) == [])
    }

    @Test("a long start asks for more time")
    func longStart() {
        var plan = NotifyPlan(watchdog: nil)
        #expect(plan.handle(.starting, at: Self.at(0)) == [.wake(at: Self.at(60))])
        #expect(plan.handle(.changed, at: Self.at(0)) == [], "nothing is known of an agent that starts")
        let more = NotifyPlan.Action.send(["EXTEND_TIMEOUT_USEC=180000000"])
        #expect(plan.handle(.due, at: Self.at(60)) == [more, .wake(at: Self.at(120))])
        #expect(plan.handle(.due, at: Self.at(120)) == [more, .wake(at: Self.at(180))])
        var hanging = plan
        #expect(hanging.handle(.due, at: Self.at(3600)) == [], "a start that hangs is ended")
        #expect(plan.handle(.ready, at: Self.at(150)) == [.send(["READY=1"]), .ask])
        #expect(plan.handle(.answered(status: "well"), at: Self.at(150)) == [.send(["STATUS=well"])])
        #expect(plan.handle(.due, at: Self.at(180)) == [])
    }

    @Test("a status can't add a line, and is cut")
    func hostileStatus() {
        var plan = ready(watchdog: nil)
        #expect(
            plan.handle(.answered(status: "a\nSTOPPING=1"), at: Self.at(0)) == [.send([#"STATUS=a\nSTOPPING=1"#])])
        _ = plan.handle(.changed, at: Self.at(10))
        let long = plan.handle(.answered(status: String(repeating: "x", count: 5000)), at: Self.at(10))
        #expect(long == [.send(["STATUS=" + String(repeating: "x", count: 300)])])
    }
}

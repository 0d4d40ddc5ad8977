import Testing

@testable import Ledger

struct PageLimitTests {
    @Test(arguments: [(0, true), (Int.max, false)])
    func theProcessIsLookedAtAfterEachIntervalOfUses(bytes: Int, isReached: Bool) {
        let limit = PageLimit(bytes: bytes, interval: 100)
        let answers = (1...300).filter { _ in limit.isReachedAfterUse() }
        #expect(answers == (isReached ? [100, 200, 300] : []))
    }
}

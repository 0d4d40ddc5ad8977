import Testing

@testable import Ledger

struct PageLimitTests {
    @Test(arguments: [(0, true), (Int.max, false)])
    func aLookAtTheProcessFollowsEveryFewHundredReads(bytes: Int, isReached: Bool) {
        let limit = PageLimit(bytes: bytes, interval: 100)
        #expect(limit.isReached == isReached)
        let answers = (1...300).filter { _ in limit.isReachedAfterRead() }
        #expect(answers == (isReached ? [100, 200, 300] : []))
    }
}

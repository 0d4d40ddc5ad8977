import Testing
import UploadCore

@testable import Agent

@Suite("Contents left to the next start")
struct UnsettledContentsTests {
    private func key(_ number: Int) -> ContentKey { ContentKey(high: 0, low: UInt64(number)) }

    @Test("are forgotten once their examination succeeds")
    func removal() {
        var contents = UnsettledContents()
        contents.add(key(1), .video)
        #expect(contents.covers(key(1), .video))
        #expect(!contents.covers(key(2), .video))
        #expect(!contents.covers(key(1), .image))
        contents.remove(key(1), .video)
        #expect(contents.isEmpty)
    }

    @Test("cover their whole kind if there are too many to remember")
    func many() {
        var contents = UnsettledContents()
        for number in 0...UnsettledContents.most { contents.add(key(number), .video) }
        contents.remove(key(0), .video)
        #expect(contents.covers(key(1_000_000), .video))
        #expect(!contents.covers(key(0), .image))
    }
}

import Text
import AgentTestSupport
import Reports
import Testing

@testable import Console

@Suite("The table of avatars")
struct AvatarTableTests {
    private let plain = ConsoleLook(isLive: false, hasColours: false, hasUnicode: true, columns: nil)

    @Test("Pictures, failures and a sum are printed in aligned lines")
    func table() {
        var list = AvatarList.sample
        var second = list.avatars[0]
        second.url = "https://example.org/\u{1B}[2J"
        second.size = 500
        second.styled_size = 0
        second.styles = []
        second.fresh = false
        second.unused = 3
        second.age = 90_000
        list.avatars.append(second)
        #expect(
            AvatarTable(list, look: plain).lines() == [
                "fresh  24.6 kB  fetched 2 h ago  used 1 h ago   https://example.org/42.jpg  list rect:96x96",
                "stale    500 B  fetched 1 d ago  used just now  https://example.org/\\u{1B}[2J",
                "failed  not_found  not asked for 9 min 30 s  https://example.org/43.jpg",
                "2 pictures, 24.6 kB of 1.1 GB; 1 URL failed",
            ])
    }

    @Test("An empty mirror has only the sum")
    func empty() {
        let list = AvatarList(avatars: [], failures: [], bytes: 0, max_size: 1 << 30)
        #expect(AvatarTable(list, look: plain).lines() == ["0 pictures, 0 B of 1.1 GB"])
    }

    @Test("A narrow terminal cuts lines")
    func narrow() {
        let look = ConsoleLook(isLive: true, hasColours: false, hasUnicode: true, columns: 20)
        #expect(AvatarTable(.sample, look: look).lines().dropLast().allSatisfy { DisplayText.width($0) <= 20 })
    }

    @Test("Cleared pictures are counted")
    func cleared() {
        #expect(AvatarClearance(removed: [], bytes: 0).line == "nothing to remove")
        #expect(AvatarClearance(removed: ["a"], bytes: 20_480).line == "removed 1 picture, 20.5 kB")
        #expect(AvatarClearance(removed: ["a", "b"], bytes: 1).line == "removed 2 pictures, 1 B")
    }
}

import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("An agent without standard input, output and error", .agents)
struct ClosedDescriptorTests {
    @Test("opens /dev/null in their place, so that no file of its own gets its log")
    func closed() async throws {
        let agent = try Agent(remote: "http://127.0.0.1:9")
        agent.launcher = ["/bin/sh", "-c", #"exec "$0" "$@" <&- >&- 2>&-"#]
        try await agent.start()
        let process = try #require(agent.program?.pid)
        for number in 0...2 {
            let target = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(number)")
            #expect(target == "/dev/null")
        }
    }
}

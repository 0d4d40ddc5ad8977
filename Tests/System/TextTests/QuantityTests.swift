import Testing

import Text

@Suite("Quantities for people")
struct QuantityTests {
    @Test(
        "sizes have a decimal unit and at most three digits",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (1050, "1.1 kB"), (99_949, "99.9 kB"),
            (99_950, "100 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"), (4_834_205, "4.8 MB"),
            (300_000_000, "300 MB"), (10_737_418_240, "10.7 GB"), (UInt64.max, "18.4 EB"),
        ])
    func size(bytes: UInt64, text: String) {
        #expect(Quantity.size(bytes) == text)
    }

    @Test(
        "durations have the two largest units",
        arguments: [
            (0, "0 s"), (59, "59 s"), (60, "1 min"), (125, "2 min 5 s"), (3599, "59 min 59 s"), (3600, "1 h"),
            (11_520, "3 h 12 min"), (86_400, "1 d"), (187_200, "2 d 4 h"),
        ])
    func duration(seconds: UInt64, text: String) {
        #expect(Quantity.duration(seconds: seconds) == text)
    }

    @Test("a speed is a size per second")
    func speed() {
        #expect(Quantity.speed(12_300_000) == "12.3 MB/s")
    }

    @Test(
        "only all counts as 100 %", arguments: [(0, "0%"), (0.305, "30%"), (0.9999, "99%"), (1, "100%"), (7, "100%")])
    func percent(share: Double, text: String) {
        #expect(Quantity.percent(share) == text)
    }

    @Test("durations are parsed in the format of the configuration")
    func written() {
        #expect(Duration(written: "60s") == .seconds(60))
        #expect(Duration(written: "250ms") == .milliseconds(250))
        #expect(Duration(written: "60") == nil)
        #expect(Duration(written: "-1s") == nil)
    }
}

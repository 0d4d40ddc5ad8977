import Testing

@testable import UploadCore

@Suite struct MediaSignaturesTests {
    @Test(arguments: MediaSamples.all.indices)
    func `each kind of file is told by its first bytes`(_ index: Int) {
        let sample = MediaSamples.all[index]
        #expect(MediaSignatures.sniff(sample.bytes)?.mime == sample.mime, "\(sample.name)")
    }

    @Test func `what follows the first bytes changes nothing`() {
        var random = SmallGenerator(state: 7)
        for sample in MediaSamples.all {
            let longer = sample.bytes + (0..<8192).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(MediaSignatures.sniff(longer)?.mime == sample.mime, "\(sample.name)")
        }
    }

    @Test func `each line of the table has a sample`() {
        let types = Set(MediaSamples.all.map(\.mime))
        for signature in MediaSignatures.table { #expect(types.contains(signature.type.mime)) }
    }

    @Test func `the kind agrees with the MIME type`() {
        for signature in MediaSignatures.table {
            #expect(signature.type.mime.hasPrefix(signature.type.kind.rawValue + "/"))
        }
    }

    @Test(arguments: MediaSamples.foreign.indices)
    func `what only looks like media is not taken`(_ index: Int) {
        let sample = MediaSamples.foreign[index]
        #expect(MediaSignatures.sniff(sample.bytes) == nil, "\(sample.name)")
    }

    @Test(
        arguments: [
            (Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), "SVG"),
            (Array("\u{FEFF}\n <?xml version='1.0'?>\n<!-- a drawing -->\n<svg>".utf8), "SVG"),
            (Array("<!DOCTYPE svg PUBLIC ''><svg>".utf8), "SVG"),
            ([0, 0, 0, 0x0C, 0x6A, 0x50, 0x20, 0x20, 0x0D, 0x0A, 0x87, 0x0A], "JPEG 2000"),
            ([0xFF, 0x4F, 0xFF, 0x51, 0], "JPEG 2000"), (Array("<?xml version='1.0'?><html>".utf8), nil),
            (Array("a text about <svg>".utf8), nil), ([], nil),
        ] as [([UInt8], String?)])
    func `a picture in a format that is not taken has a name`(bytes: [UInt8], name: String?) {
        #expect(MediaSignatures.sniff(bytes) == nil)
        #expect(bytes.withUnsafeBytes { MediaSignatures.nameOfUnknownPicture($0) } == name)
    }

    @Test func `a file extension fits the type and the protocol`() {
        for sample in MediaSamples.all {
            let type = MediaSignatures.sniff(sample.bytes) ?? .other
            #expect(MediaSignatures.fileExtension(for: type) == sample.fileExtension, "\(sample.name)")
        }
        for signature in MediaSignatures.table {
            let name = MediaSignatures.fileExtension(for: signature.type)
            #expect((1...8).contains(name.utf8.count) && name != "bin")
            #expect(name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) })
        }
        #expect(MediaSignatures.fileExtension(for: .other) == "bin")
    }

    @Test func `samples cut short anywhere are judged without a crash`() {
        for sample in MediaSamples.all {
            for length in sample.bytes.indices { _ = MediaSignatures.sniff(Array(sample.bytes[..<length])) }
        }
    }

    @Test func `a million damaged samples crash nothing`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SmallGenerator(state: seed)
        var samples = MediaSamples.all.map(\.bytes)
        var judged = 0
        for round in 0..<1_000_000 {
            let index = round % samples.count
            guard !samples[index].isEmpty else { continue }
            let place = Int(random.next() % UInt64(samples[index].count))
            let kept = samples[index][place]
            samples[index][place] = UInt8(truncatingIfNeeded: random.next() >> 32)
            let end = round % 5 == 0 ? place : samples[index].count
            samples[index].withUnsafeBytes { bytes in
                _ = MediaSignatures.sniff(UnsafeRawBufferPointer(rebasing: bytes[..<end]))
            }
            // Keep some damage, so that damage accumulates.
            if round % 16 != 0 { samples[index][place] = kept }
            judged += 1
        }
        #expect(judged == 1_000_000, "seed \(seed)")
    }

    @Test func `random bytes are no media`() {
        var random = SmallGenerator(state: 11)
        var bytes = [UInt8](repeating: 0, count: 600)
        for round in 0..<100_000 {
            for index in 0..<16 { bytes[index] = UInt8(truncatingIfNeeded: random.next() >> 32) }
            bytes[Int(random.next() % 600)] = UInt8(truncatingIfNeeded: random.next() >> 32)
            // The two bytes of a bare JPEG XL codestream do occur by chance.
            if bytes[0] == 0xFF, bytes[1] == 0x0A { bytes[1] = 0 }
            #expect(MediaSignatures.sniff(bytes) == nil, "round \(round)")
        }
    }
}

/// xorshift64*, so that a run can be repeated from its seed.
private struct SmallGenerator: RandomNumberGenerator {
    var state: UInt64

    init(state: UInt64) { self.state = state | 1 }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 2_685_821_657_736_338_717
    }
}

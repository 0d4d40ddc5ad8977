import PictureJobs
import Testing

@Suite("Styles", .serialized, .enabled(if: WorkerProcess.isBuiltWithLibvips, "built without libvips"))
struct StyleTests {
    private func draw(_ steps: String..., name: String = "baseline.jpg") throws -> Decoded {
        try Decoded(try WorkerProcess().perform(.draw(steps: steps), on: try Samples.bytes(name)).output)
    }

    @Test(
        "rect has the requested size, also for a picture of smaller size or another shape",
        arguments: [
            (20, 20), (48, 32), (300, 100), (100, 300), (1, 1), (47, 31), (4096, 8),
        ])
    func rect(width: Int, height: Int) throws {
        let drawn = try draw("rect:\(width)x\(height)")
        #expect((drawn.width, drawn.height) == (width, height))
        // 4096 × 8 stretches a single row of the picture.
        if min(width, height) > 8 { #expect(drawn.quadrants == "red green blue yellow") }
    }

    @Test("round has antialiased corners inside a transparent border")
    func round() throws {
        let drawn = try draw("round:100x80,r=20,b=6")
        #expect((drawn.width, drawn.height) == (100, 80))
        #expect(drawn.quadrants == "red green blue yellow")
        for y in 0..<80 {
            for x in 0..<100 where x < 6 || y < 6 || x >= 94 || y >= 74 {
                #expect(drawn[x, y] == Pixel(red: 0, green: 0, blue: 0, alpha: 0), "border at \(x) \(y)")
            }
        }
        // The arc around (26, 26): transparent outside, opaque inside, shades on the arc.
        #expect(
            drawn[6, 6].alpha == 0 && drawn[93, 6].alpha == 0 && drawn[6, 73].alpha == 0 && drawn[93, 73].alpha == 0)
        #expect(drawn[26, 6].alpha == 255 && drawn[6, 26].alpha == 255 && drawn[13, 13].alpha == 255)
        let shades = Set((6..<26).flatMap { x in (6..<26).map { y in drawn[x, y].alpha } }).subtracting([0, 255])
        #expect(shades.count >= 8, "\(shades.count) shades along the arc")
        for (x, y) in [(x: 8, y: 15), (x: 11, y: 11), (x: 6, y: 23)] {
            let alphas = [drawn[x, y], drawn[99 - x, y], drawn[x, 79 - y], drawn[99 - x, 79 - y]].map(\.alpha)
            #expect(Set(alphas).count == 1, "the four corners are alike")
            #expect(drawn[x, y].alpha == drawn[y, x].alpha, "a corner is alike on both sides of its diagonal")
        }
        // The covered part of the square equals the area of a quarter circle.
        let covered = (6..<26).reduce(0) { sum, x in sum + (6..<26).reduce(0) { $0 + Int(drawn[x, $1].alpha) } }
        #expect(abs(Double(covered) / 255 - 400 * .pi / 4) < 2)
    }

    @Test("a radius beyond half of the shorter side gives a circle or a stadium")
    func circle() throws {
        let drawn = try draw("round:40x40,r=4096,b=0")
        #expect(drawn[20, 0].alpha > 200 && drawn[0, 20].alpha > 200 && drawn[20, 20].alpha == 255)
        #expect(drawn[3, 3].alpha == 0 && drawn[36, 3].alpha == 0)
    }

    @Test("what the first picture of a GIF leaves free is transparent")
    func partial() throws {
        // A screen of 4 by 4, a comment, and a red picture of 2 by 2 in the middle.
        let gif: [UInt8] =
            Array("GIF89a".utf8) + [4, 0, 4, 0, 0xF1, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 255, 0, 0, 0]
            + [0x21, 0xFE, 1, 65, 0, 0x2C, 1, 0, 1, 0, 2, 0, 2, 0, 0, 2, 3, 0x4C, 0x98, 0x14, 0, 0x3B]
        let drawn = try Decoded(try WorkerProcess().perform(.draw(steps: ["original"]), on: gif).output)
        #expect((drawn.width, drawn.height) == (4, 4))
        #expect(
            [drawn[0, 0].name, drawn[1, 1].name, drawn[2, 2].name, drawn[3, 1].name] == [
                "clear", "red", "red", "clear",
            ])
    }

    @Test("steps are applied one after the other")
    func chain() throws {
        let drawn = try draw("round:80x80,r=40,b=0", "original", "rect:40x20")
        #expect((drawn.width, drawn.height) == (40, 20))
        // The middle band of a circle: the corners are only slightly transparent.
        #expect(drawn[20, 10].alpha == 255 && drawn[0, 0].alpha < 255 && drawn[20, 0].alpha == 255)
        let twice = try draw("rect:10x10", "round:50x50,r=5,b=5")
        #expect((twice.width, twice.height) == (50, 50))
        #expect(twice[2, 2].alpha == 0 && twice[25, 25].alpha == 255)
    }

    @Test("colours next to the cut-off corners don't grow dark")
    func edges() throws {
        let drawn = try draw("round:80x80,r=40,b=0", "rect:40x40")
        let edge = (0..<18).flatMap { x in (0..<18).map { y in drawn[x, y] } }.filter { (50..<200).contains($0.alpha) }
        #expect(edge.count >= 4)
        for pixel in edge { #expect(pixel.red > 200 && pixel.green < 60 && pixel.blue < 60, "still red: \(pixel)") }
    }

    @Test("an invalid style is the agent's fault, not the picture's")
    func nonsense() throws {
        let worker = try WorkerProcess()
        let picture = try Samples.bytes("rgb8.png")
        for steps in [[], ["oval"], ["rect:0x5"], ["rect:5000x5"], Array(repeating: "original", count: 17)] {
            #expect(try worker.perform(.draw(steps: steps), on: picture).outcome.isFailed)
        }
        #expect(try worker.perform(.thumbnail(side: 0, quality: 85), on: picture).outcome.isFailed)
        #expect(try worker.perform(.thumbnail(side: 1 << 40, quality: 85), on: picture).outcome.isFailed)
    }
}

import EndToEndSupport
import Foundation
import Glibc
import MediaTestSupport
import TestSupport
import Testing

/// One agent with all recipes, good files, and files that harm whoever opens them.
@Suite(
    "Hostile files among others", .agents,
    .enabled(if: LocationFiles.canBeMade && MediaFiles.ffprobe != nil, "needs exiftool and ffmpeg"))
struct HostileFilesTests {
    private let files: LocationFiles

    init() throws { files = try LocationFiles() }

    private static let all: Settings = [
        "media.strip_location": true, "media.compress_images": true, "media.transcode_video": true,
        "media.video_height": 144,
    ]

    private func located(_ name: String) async throws {
        let file = try #require(LocationCase.all.first { $0.name == name })
        try await file.make(files, name)
    }

    /// A PNG of 900 million pixels, with a text of 2 GiB once it is inflated. Perl is there wherever exiftool is.
    private func makeBomb(_ name: String) async throws {
        let script = #"""
            use Compress::Zlib;
            my ($deflate) = deflateInit(-Level => 9);
            sub piece { my ($a) = $deflate->deflate("\0" x (1 << 24)); my ($b) = $deflate->flush(Z_FULL_FLUSH); "$a$b" }
            sub chunk { my ($type, $data) = @_; pack("N", length $data) . $type . $data . pack("N", crc32("$type$data")) }
            my ($first, $again) = (piece(), piece());
            open(my $file, ">", $ARGV[0]) or die;
            print $file "\x89PNG\r\n\x1a\n", chunk("IHDR", pack("NNCCCCC", 30000, 30000, 8, 0, 0, 0, 0)),
                chunk("zTXt", "Comment\0\0" . $first . $again x 127), chunk("IDAT", compress("\0" x 1000)), chunk("IEND", "");
            """#
        _ = try await files.run("/usr/bin/perl", ["-e", script, files.path(name)])
    }

    /// A film that takes a while to convert; `seed` changes its pictures.
    private func makeFilm(_ name: String, seed: Int) async throws {
        try await files.media.make(
            "-f lavfi -i testsrc2=size=640x480:rate=25:duration=20,hue=h=\(seed) -c:v mpeg4 -q:v 3 \(name)")
    }

    private func drop(_ name: String, in agent: Agent) throws {
        try Files.rename(files.path(name), to: agent.path(name))
    }

    @Test("fail alone: all others arrive without positions, the agent goes on, and nothing is left behind")
    func amongOthers() async throws {
        try await makeBomb("bomb.png")
        for name in ["exif.jpg", "loci.mp4", "xmp.png"] { try await located(name) }
        try await located("fast.mp4")
        let whole = try files.bytes("fast.mp4")
        _ = try files.media.write(whole.prefix(whole.count * 2 / 3), "truncated.mp4")
        _ = try files.media.write(whole.prefix(64), "stump.mp4")
        let noise = (0..<5000).map { UInt8(truncatingIfNeeded: $0 * 7919 >> 3) }
        _ = try files.media.write([0xFF, 0xD8, 0xFF, 0xE1] + noise, "noise.jpg")
        _ = try files.media.write("#EXTM3U\n#EXTINF:9,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n".utf8, "list.mp4")
        _ = try files.media.write("ffconcat version 1.0\nfile /etc/hostname\n".utf8, "concat.mp4")

        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url, Self.all)
        try await agent.start()
        let process = agent.program?.pid
        for name in ["bomb.png", "exif.jpg", "truncated.mp4", "noise.jpg", "loci.mp4", "stump.mp4"] {
            try drop(name, in: agent)
        }
        for name in ["list.mp4", "concat.mp4", "xmp.png"] { try drop(name, in: agent) }
        try #require(mkfifo(agent.path("pipe.jpg"), 0o600) == 0)
        try #require(symlink("/etc/hostname", agent.path("link.jpg")) == 0)

        for name in ["exif.jpg", "loci.mp4", "xmp.png"] {
            #expect(try await agent.reached(name, .done).product?.key != nil, "\(name)")
        }
        for name in ["bomb.png", "noise.jpg"] {
            // On a busy machine, exiftool may reach its time limit with the bomb; the agent then tries again twice.
            let sidecar = try await agent.reached(name, .failed, timeout: .seconds(400))
            #expect(sidecar.error?.code == "location_not_removed", "\(name)")
        }
        for (name, code) in [
            ("list.mp4", "unsupported_type"), ("concat.mp4", "unsupported_type"), ("pipe.jpg", "not_regular_file"),
            ("link.jpg", "symlink"),
        ] {
            #expect(try await agent.reached(name, .rejected).error?.code == code, "\(name)")
        }
        // What is left of these films may be searched, or not.
        for name in ["truncated.mp4", "stump.mp4"] { try await agent.reached(name, .done, .failed) }
        try expectNoPositions(on: receiver)
        #expect(agent.program?.pid == process && agent.program?.ending == nil)
        try await expectNothingLeft(by: agent)
    }

    @Test("that change while they are processed are processed anew, and never arrive with the former content")
    func changing() async throws {
        try await makeFilm("first.mkv", seed: 0)
        try await makeFilm("second.mkv", seed: 90)
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url, Self.all)
        try await agent.start()
        let (first, second) = (try files.bytes("first.mkv"), try files.bytes("second.mkv"))
        try agent.drop("film.mkv", Array(first))
        try await agent.reached("film.mkv", .processing)
        try agent.drop("film.mkv", Array(second))
        let key = Digest.md5(Array(second))
        let sidecar = try await agent.reached("film.mkv", .done) { $0.key == key }
        #expect(sidecar.product?.height == 144)
        #expect(try receiver.objects() == [sidecar.product?.key].compactMap { $0 })
        try await expectNothingLeft(by: agent)
    }

    private func expectNoPositions(on receiver: Receiver) throws {
        for name in Files.regularFiles(receiver.root) {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(receiver.root)/\(name)"))
            #expect(LocationFiles.position(in: bytes) == nil, "\(name) on the server")
        }
    }

    /// Products and their scratch directories go with the last upload that needs them.
    private func expectNothingLeft(by agent: Agent) async throws {
        try await Poll.until("the products to go", lastState: { "\(Files.tree("\(agent.state)/products"))" }) {
            Files.tree("\(agent.state)/products").isEmpty && Files.tree("\(agent.state)/location").isEmpty
        }
    }
}

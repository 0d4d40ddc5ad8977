import EndToEndSupport
import Foundation
import Glibc
import MediaTestSupport
import TestSupport
import Testing

/// An agent whose products are on a small disk of their own.
@Suite(
    "A disk that is full while files are processed", .agents,
    .enabled(if: LocationFiles.canBeMade && Unshare.mayMount, "needs exiftool, ffmpeg and mounts"))
struct FullDiskTests {
    /// The directories of the state that hold products and their drafts.
    private static let places = ["products", "location"]

    /// Mounts one small file system at both places.
    private func mountSmallDisk(_ agent: Agent) throws {
        let disk = agent.directory.path("disk")
        for place in Self.places { try Files.makeDirectory("\(agent.state)/\(place)") }
        try Files.makeDirectory(disk)
        let binds = Self.places.map { "mkdir $D/\($0) && mount --bind $D/\($0) $S/\($0)" }.joined(separator: " && ")
        agent.launcher = [
            "/usr/bin/unshare", "-rm", "sh", "-c",
            "D=$1 S=$2; shift 2; mount -t tmpfs -o size=4m,mode=700 none $D && \(binds) && exec \"$@\"", "sh", disk,
            agent.state,
        ]
    }

    @Test("waits, says so in status and sidecars, goes on when there is room, and sends no half product")
    func fullDisk() async throws {
        let files = try LocationFiles()
        for name in ["exif.jpg", "loci.mp4"] {
            try await #require(LocationCase.all.first { $0.name == name }).make(files, name)
        }
        try await files.media.make("-f lavfi -i testsrc2=size=640x480:rate=10:duration=2 -c:v mpeg4 -q:v 2 film.mkv")
        let receiver = try await Receiver.started()
        let agent = try Agent(
            remote: receiver.url,
            [
                "media.strip_location": true, "media.compress_images": true, "media.transcode_video": true,
                "media.video_height": 144,
            ])
        try mountSmallDisk(agent)
        try await agent.start()
        let filler = "/proc/\(try #require(agent.program?.pid))/root\(agent.directory.path("disk"))/filler"
        try Files.fillDisk(filler)

        try agent.drop("paper.png", NumberedPicture(77_000).png)
        for name in ["exif.jpg", "loci.mp4", "film.mkv"] { try Files.rename(files.path(name), to: agent.path(name)) }
        let names = ["paper.png", "exif.jpg", "loci.mp4", "film.mkv"]
        for name in names {
            let sidecar = try await agent.reached(name, .processing) { $0.error != nil }
            #expect(sidecar.error?.code == "disk_full" && sidecar.error?.retryable == true, "\(name): \(sidecar.brief)")
        }
        #expect(try await agent.problems().contains { $0.contains("make room on the disk") })
        #expect(try receiver.objects() == [])

        try #require(unlink(filler) == 0)
        var keys: [String] = []
        for name in names {
            let sidecar = try await agent.reached(name, .done)
            #expect(sidecar.error == nil)
            keys.append(try #require(sidecar.product?.key, "\(name) was sent as it is: \(sidecar.brief)"))
        }
        #expect(try receiver.objects() == keys.sorted())
        #expect(try await agent.problems() == [])
        for name in Files.regularFiles("\(receiver.root)/objects") {
            // Reads each product to its end.
            try await files.media.make("-xerror -i \(receiver.root)/objects/\(name) -f null -")
        }
    }
}

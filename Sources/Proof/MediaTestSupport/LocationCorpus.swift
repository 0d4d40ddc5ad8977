import Foundation

/// A file of the corpus: a picture or video with a position, which a program of the machine writes.
package struct LocationCase: Sendable, CustomStringConvertible {
    /// The part of the file that contains the position.
    let place: String
    /// The name, unique in the corpus. Its ending says what kind of file it is.
    package let name: String
    /// Makes the file under its name.
    package let make: @Sendable (LocationFiles, String) async throws -> Void

    package var description: String { "\(name): \(place)" }

    /// All files whose positions can be removed.
    package static let all = pictures + videos + foreign
    /// Files whose positions can't be removed.
    package static let refused = [
        LocationCase("subtitles of Matroska", "refused.mkv") { files, name in
            try await subtitles("GPS(11.5755,48.1375,520)", name, files)
        }
    ]

    init(
        _ place: String, _ name: String, _ make: @escaping @Sendable (LocationFiles, String) async throws -> Void
    ) {
        self.place = place
        self.name = name
        self.make = make
    }

    /// A file with tags that exiftool writes.
    init(_ place: String, _ name: String, _ tags: [String]) {
        self.init(place, name) { files, name in
            try await files.base(name)
            try await files.tag(name, ["-m"] + tags)
        }
    }

    private static let exif = [
        "-GPSLatitude=\(LocationFiles.latitude)", "-GPSLatitudeRef=N", "-GPSLongitude=\(LocationFiles.longitude)",
        "-GPSLongitudeRef=E", "-GPSAltitude=520", "-GPSDateStamp=2026:01:02", "-GPSTimeStamp=02:04:05",
    ]
    private static let xmp = [
        "-XMP-exif:GPSLatitude=\(LocationFiles.latitude)", "-XMP-exif:GPSLongitude=\(LocationFiles.longitude)",
    ]
    private static let point = "\(LocationFiles.latitude), \(LocationFiles.longitude)"

    package static let pictures: [LocationCase] =
        ["jpg", "png", "webp", "tif", "heic", "avif", "jxl", "dng", "cr2", "cr3", "nef", "arw", "orf", "raf", "rw2"]
        .flatMap { kind in
            [LocationCase("EXIF", "exif.\(kind)", exif), LocationCase("XMP", "xmp.\(kind)", xmp)]
        } + [
            LocationCase("XMP", "xmp.gif", xmp),
            LocationCase("both", "both.jpg", exif + xmp),
            LocationCase("destination", "destination.jpg", ["-GPSDestLatitude=48.1375", "-GPSDestLongitude=11.5755"]),
            LocationCase("altitude alone", "altitude.jpg", ["-GPSAltitude=520"]),
            LocationCase("little-endian EXIF", "little.jpg", ["-ExifByteOrder=II"] + exif),
            LocationCase(
                "place with coordinates", "created.jpg",
                ["-XMP-iptcExt:LocationCreated={GPSLatitude=48.1375,GPSLongitude=11.5755,City=Munich}"]),
            LocationCase(
                "places shown", "shown.png",
                ["-XMP-iptcExt:LocationShown={GPSLatitude=48.1375,GPSLongitude=11.5755,City=Munich}"]),
            LocationCase(
                "a drone", "drone.jpg",
                ["-XMP-drone-dji:GPSLatitude=48.1375", "-XMP-drone-dji:AbsoluteAltitude=+520.1"]),
            LocationCase("DarwinCore", "darwin.jpg", ["-DCDecimalLatitude=48.1375"]),
            LocationCase("a comment", "comment.jpg", ["-Comment=+48.1375+011.5755/"]),
            LocationCase("a text of PNG", "text.png", ["-PNG:Comment=+48.1375+011.5755/"]),
            LocationCase("compressed texts of PNG", "compressed.png", ["-z", "-IFD0:Artist=somebody"] + exif + xmp),
            LocationCase(
                "the map of a GeoTIFF", "map.tif", ["-ModelTiePoint=0 0 0 11.5755 48.1375 0", "-PixelScale=1 1 0"]),
            LocationCase("two pages", "pages.tif", exif + ["-IFD1:ImageDescription=second"]),
            LocationCase("the EXIF of a thumbnail", "thumbnail.jpg") { files, name in
                try await files.base("small.jpg")
                try await files.tag("small.jpg", exif)
                try await files.base(name)
                try await files.tag(name, ["-ThumbnailImage<=\(files.path("small.jpg"))"])
            },
        ]
        + ["nef", "arw", "orf", "rw2"].map { kind in
            LocationCase("the EXIF of a preview", "preview.\(kind)") { files, name in
                try await files.base("small.jpg")
                try await files.tag("small.jpg", exif + xmp)
                _ = try files.media.write(RawFiles.withPreview(kind, try files.bytes("small.jpg")), name)
            }
        } + [
            LocationCase("EXIF and XMP of a second picture", "second.jpg") { files, name in
                try await files.base("small.jpg")
                try await files.tag("small.jpg", exif + xmp)
                try await files.base(name)
                try (files.bytes(name) + files.bytes("small.jpg")).write(to: URL(filePath: files.path(name)))
            },
            LocationCase("a broken entry", "broken.jpg") { files, name in
                try await files.base(name)
                try await files.tag(name, exif)
                // The latitude is far behind the end of the file.
                let entry = Data([0, 2, 0, 5, 0, 0, 0, 3])
                var data = try files.bytes(name)
                if let range = data.range(of: entry) {
                    data.replaceSubrange(range.upperBound..<(range.upperBound + 4), with: [0x7F, 0xFF, 0xFF, 0xFF])
                }
                try data.write(to: URL(filePath: files.path(name)))
            },
            LocationCase("texts behind the picture", "trailer.jpg") { files, name in
                try await files.base(name)
                let text = "{\"latitude\": 48.1375, \"longitude\":11.5755}\n$GPRMC,120000,A,4808.2500,N,01134.5300,E\n"
                try (files.bytes(name) + Data(text.utf8)).write(to: URL(filePath: files.path(name)))
            },
            LocationCase("the video of a moving photo", "moving.jpg") { files, name in
                try await files.base("video.mp4")
                try await files.tag("video.mp4", ["-UserData:GPSCoordinates=\(point), 520"])
                try await files.base(name)
                try (files.bytes(name) + files.bytes("video.mp4")).write(to: URL(filePath: files.path(name)))
            },
        ]

    /// A file with a part that no program here knows, in a place of its own format.
    private static func foreign(
        _ name: String, _ place: String, _ change: @escaping @Sendable (inout Data, Data) -> Void
    ) -> LocationCase {
        LocationCase(place, name) { files, name in
            try await files.base(name)
            var data = try files.bytes(name)
            change(&data, Data("at \(point) and more".utf8))
            try data.write(to: URL(filePath: files.path(name)))
        }
    }

    private static func bytes(_ number: Int, _ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) })
    }

    private static func insert(_ part: Data, before mark: String, _ back: Int, in data: inout Data) {
        if let place = data.range(of: Data(mark.utf8), options: .backwards) {
            data.insert(contentsOf: part, at: place.lowerBound - back)
        }
    }

    /// Parts of formats that exiftool neither reads nor writes.
    package static let foreign: [LocationCase] = [
        foreign("maker.jpg", "a segment of a maker") { data, text in
            data.insert(contentsOf: [0xFF, 0xE5] + bytes(text.count + 2, 2) + text, at: 2)
        },
        foreign("behind.jpg", "bytes behind the picture") { data, text in data += text },
        foreign("private.png", "a private chunk") { data, text in
            insert(bytes(text.count, 4) + Data("prVt".utf8) + text + Data(count: 4), before: "IEND", 4, in: &data)
        },
        foreign("word.png", "a text with a keyword of its own") { data, text in
            let content = Data("place\0".utf8) + text
            insert(bytes(content.count, 4) + Data("tEXt".utf8) + content + Data(count: 4), before: "IEND", 4, in: &data)
        },
        foreign("behind.png", "bytes behind the picture") { data, text in data += text },
        foreign("case.webp", "a chunk in small letters") { data, text in
            let even = text + Data(count: text.count % 2)
            data += Data("exif".utf8) + Data(bytes(even.count, 4).reversed()) + even
            data.replaceSubrange(4..<8, with: Data(bytes(data.count - 8, 4).reversed()))
        },
        foreign("application.gif", "a block of an application") { data, text in
            data.insert(
                contentsOf: [0x21, 0xFF, 11] + Data("GPSDATA 1.0".utf8) + bytes(text.count, 1) + text + [0],
                at: data.count - 1)
        },
        foreign("brob.jxl", "a compressed box") { data, text in data += box("brob", Data("Exif".utf8) + text) },
        foreign("maker.heic", "a box of a maker") { data, text in data += box("sefd", text) },
        foreign("uuid.mp4", "a box of a maker") { data, text in
            data += box("uuid", Data(repeating: 7, count: 16) + text)
        },
        foreign("gap.mp4", "media data of no track") { data, text in data += box("mdat", text) },
        foreign("behind.mov", "a trailer") { data, text in data += text },
        foreign("void.mkv", "a void element") { data, text in data += [0xEC] + bytes(0x80 + text.count, 1) + text },
        LocationCase("a tag of a program", "place.mkv", ffmpeg("-metadata place=48.1375x11.5755")),
        LocationCase(
            "a key of a maker", "maker.mp4",
            ffmpeg("-movflags use_metadata_tags -metadata com.maker.place=48.1375x11.5755")),
    ]

    /// Makes a video with subtitles that contain a position.
    private static func subtitles(_ text: String, _ name: String, _ files: LocationFiles) async throws {
        try await files.base("plain.mp4")
        let lines = "1\n00:00:00,000 --> 00:00:00,500\n\(text)\n\n2\n00:00:00,500 --> 00:00:00,900\nend\n\n"
        _ = try files.media.write(lines.utf8, "text.srt")
        let codec = name.hasSuffix("mkv") ? "srt" : "mov_text"
        try await files.media.make(
            "-i \(files.path("plain.mp4")) -i \(files.path("text.srt")) -map 0 -map 1 -c copy -c:s \(codec) \(name)")
    }

    /// Writes tags with ffmpeg.
    private static func ffmpeg(_ options: String) -> @Sendable (LocationFiles, String) async throws -> Void {
        { files, name in
            let base = "plain." + (name.hasSuffix("webm") ? "webm" : "mp4")
            try await files.base(base)
            try await files.media.make("-i \(files.path(base)) -c copy \(options) \(name)")
        }
    }

    private static func box(_ type: String, _ content: Data) -> Data {
        let size = withUnsafeBytes(of: UInt32(content.count + 8).bigEndian) { Data($0) }
        return size + Data(type.utf8) + content
    }

    private static let iso = "-metadata location=+48.1375+011.5755/"

    package static let videos: [LocationCase] = [
        LocationCase("loci", "loci.mp4", ffmpeg(iso)),
        LocationCase("keys and loci", "keys.mp4", ffmpeg("-movflags use_metadata_tags \(iso)")),
        LocationCase(
            "Apple's keys", "apple.mov",
            ["-Keys:GPSCoordinates=\(point), 520", "-Keys:LocationName=Home", "-Keys:LocationAccuracyHorizontal=5"]),
        LocationCase("user data", "user.mov", ffmpeg(iso)),
        LocationCase("user data", "user.mp4", ["-UserData:GPSCoordinates=\(point), 520"]),
        LocationCase("iTunes's list", "list.mp4", ["-ItemList:GPSCoordinates=\(point), 520"]),
        LocationCase("iTunes's list", "list.m4v", ["-ItemList:GPSCoordinates=\(point), 520"]),
        LocationCase("Apple's keys", "apple.m4v", ["-Keys:GPSCoordinates=\(point), 520"]),
        LocationCase("XMP", "xmp.mp4", xmp),
        LocationCase("XMP", "xmp.mov", xmp),
        LocationCase(
            "all of GPS in XMP", "all.mp4",
            xmp + ["-XMP-exif:GPSAltitude=520", "-XMP-exif:GPSTimeStamp=2026:01:02 02:04:05", "-XMP-exif:GPSSpeed=3"]),
        LocationCase("a moving header", "fast.mp4", ffmpeg("-movflags faststart \(iso)")),
        LocationCase("fragments", "fragments.mp4", ffmpeg("-movflags frag_keyframe+empty_moov \(iso)")),
        LocationCase("loci", "loci.3gp", ffmpeg("-c:a copy \(iso)")),
        LocationCase("loci", "loci.3g2", ffmpeg(iso)),
        LocationCase("subtitles of a drone", "drone.mp4") { files, name in
            try await subtitles("GPS(11.5755,48.1375,520)", name, files)
        },
        LocationCase("subtitles of another drone", "other.mov") { files, name in
            try await subtitles("[latitude: 48.1375] [longitude: 11.5755]", name, files)
        },
        LocationCase("a track of sensors", "sensors.mp4") { files, name in
            try await subtitles("48.1375", name, files)
            try files.replace("tx3g", by: "gpmd", in: name)
            try files.replace("sbtl", by: "meta", in: name)
        },
        LocationCase("a track of a 360° camera", "camera.mp4") { files, name in
            try await subtitles("48.1375", name, files)
            try files.replace("tx3g", by: "camm", in: name)
            try files.replace("sbtl", by: "camm", in: name)
        },
        LocationCase("a track of text metadata", "mett.mp4") { files, name in
            try await subtitles("48.1375", name, files)
            try files.replace("tx3g", by: "mett", in: name)
            try files.replace("sbtl", by: "meta", in: name)
        },
        LocationCase("free space of a dash cam", "dash.mp4") { files, name in
            try await files.base(name)
            let line = "freeGPS $GPRMC,120000.000,A,4808.2500,N,01134.5300,E,10.0,90.0,020126,,,A*7A"
            let block = Data([0, 0, 1, 0]) + Data(line.utf8)
            let free = block + Data(count: 256 - block.count)
            try (files.bytes(name) + free).write(to: URL(filePath: files.path(name)))
        },
        LocationCase("XML of a camera", "xml.mp4") { files, name in
            try await files.base(name)
            let xml =
                "<NonRealTimeMeta><AcquisitionRecord><Group name=\"ExifGPS\"><Item name=\"Latitude\" "
                + "value=\"48:8:13.700\"/></Group></AcquisitionRecord></NonRealTimeMeta>"
            let handler = box("hdlr", Data(count: 8) + Data("nrtm".utf8) + Data(count: 13))
            let metadata = box("meta", Data(count: 4) + handler + box("xml ", Data(count: 4) + Data(xml.utf8)))
            try (files.bytes(name) + metadata).write(to: URL(filePath: files.path(name)))
        },
        LocationCase("a comment of AVI", "comment.avi", ffmpeg("-c:a mp3 -metadata comment=+48.1375+011.5755/")),
        LocationCase("tags", "tags.mkv", ffmpeg(iso)),
        LocationCase("tags", "tags.webm", ffmpeg(iso)),
        LocationCase("tags before live clusters", "live.mkv", ffmpeg("-f matroska -live 1 \(iso)")),
        LocationCase(
            "Apple's name for tags", "apple.mkv",
            ffmpeg("-metadata com.apple.quicktime.location.ISO6709=+48.1375+011.5755/")),
        LocationCase("EXIF of an attached picture", "attached.mkv") { files, name in
            try await files.base("cover.jpg")
            try await files.tag("cover.jpg", exif + xmp)
            try await files.base("plain.mp4")
            try await files.media.make(
                "-i \(files.path("plain.mp4")) -c copy -attach \(files.path("cover.jpg")) -metadata:s:t mimetype=image/jpeg \(name)"
            )
        },
    ]
}

import Foundation

/// Small camera raw files with the structure that exiftool expects of each camera. No raw converter could show them.
package enum RawFiles {
    /// What makes a TIFF the raw file of a camera (ExifTool, Image::ExifTool::Exif and the modules of the makers).
    private struct Camera {
        var start = Data("II*\0".utf8)
        var make: String
        var compression: UInt16 = 1
        /// Where the first directory is; the header ends there.
        var directory: UInt32 = 8
    }

    private static let cameras: [String: Camera] = [
        "cr2": Camera(make: "Canon", compression: 6, directory: 16),
        "nef": Camera(make: "NIKON CORPORATION", compression: 34713),
        "arw": Camera(make: "SONY", compression: 32767),
        "orf": Camera(start: Data("IIRO".utf8), make: "OLYMPUS IMAGING CORP."),
        "rw2": Camera(start: Data("IIU\0".utf8), make: "Panasonic", directory: 24),
    ]

    /// The samples of all pictures in these files.
    private static let samples = Data((0..<1024).map { UInt8(truncatingIfNeeded: $0 &* 37 >> 2) })

    /// Returns the samples that a file with this name must contain; nil if it is no raw file.
    static func samples(ofKind name: String) -> Data? {
        cameras.keys.contains { name.hasSuffix(".\($0)") } || name.hasSuffix(".raf") ? samples : nil
    }

    /// Returns a file based on TIFF; nil for other kinds.
    static func plain(_ kind: String) -> Data? {
        guard let camera = cameras[kind] else { return nil }
        // A CR2 has four directories, and its header says where the last one is, which holds the raw picture.
        let directories = kind == "cr2" ? [main(camera), thumbnail(samples), picture(6), picture(6)] : [main(camera)]
        return file(camera, directories, isCanon: kind == "cr2")
    }

    /// Returns a file based on TIFF with a JPEG as its preview.
    static func withPreview(_ kind: String, _ jpeg: Data) -> Data {
        guard let camera = cameras[kind] else { return Data() }
        // Panasonic's cameras have their preview in the first directory, as JpgFromRaw.
        if kind == "rw2" { return file(camera, [main(camera) + [.init(0x2E, 7, jpeg)]]) }
        return file(camera, [main(camera), thumbnail(jpeg)])
    }

    // MARK: TIFF

    /// An entry of a directory: a value, or bytes that stand behind the directory (TIFF 6.0, section 2).
    private struct Entry {
        var tag: UInt16
        var type: UInt16
        var value: UInt32 = 0
        var bytes: Data?

        init(_ tag: UInt16, _ value: UInt32) { (self.tag, type, self.value) = (tag, 4, value) }
        init(_ tag: UInt16, _ value: UInt16) { (self.tag, type, self.value) = (tag, 3, UInt32(value)) }

        /// - Parameter type: 4 for the offset of a picture, 2 for a text, 7 for anything else.
        init(_ tag: UInt16, _ type: UInt16, _ bytes: Data) { (self.tag, self.type, self.bytes) = (tag, type, bytes) }
    }

    private static func picture(_ compression: UInt16) -> [Entry] {
        [
            Entry(0x100, UInt32(32)), Entry(0x101, UInt32(32)), Entry(0x102, UInt16(8)), Entry(0x103, compression),
            Entry(0x106, UInt16(1)), Entry(0x111, 4, samples), Entry(0x117, UInt32(samples.count)),
        ]
    }

    private static func main(_ camera: Camera) -> [Entry] {
        picture(camera.compression) + [Entry(0x10F, 2, Data((camera.make + "\0").utf8))]
    }

    private static func thumbnail(_ jpeg: Data) -> [Entry] {
        [Entry(0x103, UInt16(6)), Entry(0x201, 4, jpeg), Entry(0x202, UInt32(jpeg.count))]
    }

    private static func file(_ camera: Camera, _ directories: [[Entry]], isCanon: Bool = false) -> Data {
        var offset = camera.directory
        var starts: [UInt32] = []
        var body = Data()
        for (number, entries) in directories.enumerated() {
            starts.append(offset)
            let piece = directory(entries, at: offset, isLast: number == directories.count - 1)
            body += piece
            offset += UInt32(piece.count)
        }
        var header = camera.start + little(camera.directory)
        if isCanon { header += Data("CR".utf8) + [2, 0] + little(starts.last ?? 0) }
        return header + Data(count: Int(camera.directory) - header.count) + body
    }

    private static func directory(_ entries: [Entry], at start: UInt32, isLast: Bool) -> Data {
        let entries = entries.sorted { $0.tag < $1.tag }
        let behind = start + 2 + 12 * UInt32(entries.count) + 4
        var rows = little(UInt16(entries.count))
        var blocks = Data()
        for entry in entries {
            rows += little(entry.tag) + little(entry.type)
            let isOffset = entry.type == 4 || entry.bytes == nil
            rows += little(isOffset ? 1 : UInt32(entry.bytes?.count ?? 0))
            rows += little(entry.bytes == nil ? entry.value : behind + UInt32(blocks.count))
            if let bytes = entry.bytes { blocks += bytes + Data(count: bytes.count % 2) }
        }
        return rows + little(isLast ? 0 : behind + UInt32(blocks.count)) + blocks
    }

    private static func little(_ value: some FixedWidthInteger) -> Data {
        withUnsafeBytes(of: value.littleEndian) { Data($0) }
    }

    // MARK: Fujifilm

    /// Returns a RAF, whose header names the places of a JPEG, of a directory, and of the samples (ExifTool,
    /// FujiFilm.pm).
    static func fuji(preview: Data) -> Data {
        func big(_ value: Int) -> Data { withUnsafeBytes(of: UInt32(value).bigEndian) { Data($0) } }
        // One entry: the size of the sensor, 64 x 96.
        let directory = big(1) + Data([1, 0, 0, 4, 0, 64, 0, 96])
        let jpeg = preview + Data(count: (4 - preview.count % 4) % 4)
        var header = Data("FUJIFILMCCD-RAW 0201FF383501X-T3".utf8) + Data(count: 28) + Data("0100".utf8)
        header += Data(count: 20)
        let places = [0x94, preview.count, 0x94 + jpeg.count, directory.count, 0x94 + jpeg.count + directory.count]
        for place in places + [samples.count] { header += big(place) }
        return header + Data(count: 0x94 - header.count) + jpeg + directory + samples
    }
}

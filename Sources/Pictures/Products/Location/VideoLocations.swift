import LinuxSystem
import SystemPackage
import UploadCore

/// Removes the positions of one video, in place in a copy of it. exiftool reads the video as an open file.
struct VideoLocations {
    let input: ProductInput
    let output: SharedDescriptor
    /// Whether only what is needed to show the video stays.
    let isBare: Bool
    /// Absolute path of exiftool.
    let program: String
    /// The only directory that exiftool may write to.
    let scratch: String
    let cancellation: Cancellation

    private enum Container {
        case boxes
        case matroska
        /// exiftool reads the type, and nothing here writes it.
        case readOnly
    }

    func remove(progress: (Double) -> Void) throws(ProductFailure) -> StepOutcome {
        let original = FilePart(file: input.file, range: 0..<input.size, cancellation: cancellation)
        let (patches, essence, obstacle) = try findPatches(in: original)
        if patches.isEmpty {
            if let obstacle { throw .refused(obstacle) }
            let found = try read(input.file)
            guard let tag = found.tags.first else { return isWritten ? .made(input.type) : .unchanged }
            guard container == .boxes else {
                throw .refused("\(tag.group):\(tag.name) can't be removed from \(input.type.mime)")
            }
        }
        if !isWritten { try FileCopy.copy(input.file, count: input.size, to: output, cancellation) }
        progress(0.5)
        let product = FilePart(file: output, range: 0..<input.size, cancellation: cancellation)
        try patches.apply(to: output, cancellation)
        var left = try read(output)
        if !left.tags.isEmpty, container == .boxes {
            let tracks = Set(left.tags.compactMap { $0.track })
            let reported = try cancellation.limit(to: limit) { () throws(ProductFailure) in
                try BoxPositions(in: product, cancellation, removing: tracks, isBare: isBare)
            }
            try reported.patches.apply(to: output, cancellation)
            left = try read(output)
        }
        if let tag = left.tags.first { throw .refused("\(tag.group):\(tag.name) could not be removed from the video") }
        let (rest, essenceLeft, obstacleLeft) = try findPatches(in: product)
        guard essenceLeft == essence else { throw .refused(Self.positionsInEssence) }
        if let obstacleLeft { throw .refused(obstacleLeft) }
        guard rest.isEmpty else { throw .refused("the video has positions within positions") }
        progress(1)
        return .made(input.type)
    }

    private static let positionsInEssence = "the positions are within a track of pictures or sound"

    /// Whether ffmpeg has written the video to the output already.
    private var isWritten: Bool { input.file.rawValue == output.rawValue }

    private var container: Container {
        switch input.type.mime {
        case "video/mp4", "video/quicktime", "video/x-m4v", "video/3gpp", "video/3gpp2": .boxes
        case "video/x-matroska", "video/webm": .matroska
        default: .readOnly
        }
    }

    /// Returns the changes that remove positions, where the tracks of pictures and sound are, and why positions would stay
    /// after the changes.
    private func findPatches(
        in part: FilePart
    ) throws(ProductFailure) -> (patches: Patches, essence: [UInt64], obstacle: String?) {
        try cancellation.limit(to: limit) { () throws(ProductFailure) in try search(part) }
    }

    /// Seconds for one search, and for one reading by exiftool.
    private var limit: Int { 30 + Int(input.size >> 22) }

    private func search(
        _ part: FilePart
    ) throws(ProductFailure) -> (patches: Patches, essence: [UInt64], obstacle: String?) {
        let hidden = try HiddenPositions(
            in: part, cancellation, isTransportStream: input.type.mime == "video/mp2t")
        var patches = hidden.patches
        var essence: [UInt64] = []
        switch container {
        case .boxes:
            let boxes = try BoxPositions(in: part, cancellation, isBare: isBare)
            if let obstacle = boxes.obstacle { throw .refused(obstacle) }
            if boxes.overwritesPicturesOrSound(patches) { throw .refused(Self.positionsInEssence) }
            // EXIF and XMP may be within a box that is removed as a whole.
            try patches += boxes.patches
            essence = boxes.essence
            if essence.isEmpty { throw .refused("the video has no track of pictures or sound: it is damaged") }
        case .matroska:
            let elements = try MatroskaPositions(
                in: part, changesAttachments: !patches.isEmpty, isBare: isBare, cancellation)
            if let obstacle = elements.obstacle { throw .refused(obstacle) }
            try patches += elements.patches
        case .readOnly:
            if !patches.isEmpty { throw .refused("positions can't be removed from \(input.type.mime)") }
        }
        return (patches, essence, hidden.obstacle)
    }

    private func read(_ file: SharedDescriptor) throws(ProductFailure) -> PositionReport {
        let session = try ExifToolSession(program: program, directory: scratch, file: file)
        defer { session.end() }
        var report = PositionReport()
        try session.run(PositionReport.arguments(for: ExifToolSession.openFile), within: limit, cancellation) {
            report.add($0)
        }
        if let trouble = report.trouble ?? report.positionTrouble {
            throw .refused("exiftool could not read the video: \(trouble)")
        }
        if report.fileType == nil { throw .refused("exiftool does not know this type of video") }
        return report
    }
}

extension PositionReport.Tag {
    /// The number of the track that the tag comes from, counted from 1; nil if it comes from no track.
    fileprivate var track: Int? { group.hasPrefix("Track") ? Int(group.dropFirst(5)) : nil }
}

import UploadCore

/// The programs that measure, draw and process pictures and videos. Uploads of unprocessed files don't need them.
struct MediaToolsFacts: Equatable, Sendable {
    /// The picture worker, outbox-media.
    enum Worker: Equatable, Sendable {
        /// The program does not exist.
        case missing(path: String)
        /// The program exists, but was built without libvips.
        case withoutLibrary
        /// The program does not work.
        case broken(path: String, reason: String)
        /// The program measured a picture.
        case works(library: String)
    }

    /// A program of ffmpeg.
    enum Tool: Equatable, Sendable {
        case missing
        case broken(String)
        case works(version: String)
    }

    var worker: Worker
    var ffprobe: Tool
    var ffmpeg: Tool
    var exiftool: Tool
    /// What is to be done with files before their upload.
    var recipes: Recipes

    var findings: [Finding] { [workerFinding, videoFinding] + productFindings }

    /// What becomes of the recipes.
    private var productFindings: [Finding] {
        var findings: [Finding] = []
        if recipes.removal != nil { findings += [removalFinding] + removalFromVideos }
        if recipes.pictures != nil, worker.isMissing {
            findings.append(
                Finding(
                    .mediaTools, .warning, "media.compress_images has no effect without the picture worker",
                    remedy: "see the line about the picture worker"))
        }
        if recipes.videos != nil, ffprobe.isMissing || ffmpeg.isMissing {
            findings.append(
                Finding(
                    .mediaTools, .warning,
                    "media.transcode_video has no effect without ffmpeg: videos are sent as they are",
                    remedy: "sudo apt-get install ffmpeg"))
        }
        return findings
    }

    /// The key that has something removed.
    private var removalKey: String {
        recipes.removal == .positions ? "media.strip_location" : "media.strip_metadata"
    }

    private var removalFromVideos: [Finding] {
        guard ffprobe.isMissing || ffmpeg.isMissing else { return [] }
        let files = recipes.removal == .positions ? "no AVI, FLV, MPEG-TS and MPEG-PS" : "no video"
        return [
            Finding(
                .mediaTools, .warning, "ffmpeg is not installed; \(removalKey) is set, so \(files) is sent",
                remedy: "sudo apt-get install ffmpeg, then `outbox retry --all`")
        ]
    }

    private var removalFinding: Finding {
        let loss = "\(removalKey) is set, so no picture and no video is sent"
        let remedy = "sudo apt-get install libimage-exiftool-perl, then `outbox retry --all`"
        return switch exiftool {
        case .works(let version):
            Finding(
                .mediaTools, .ok,
                "exiftool \(version) removes \(recipes.removal == .positions ? "locations" : "metadata")")
        case .missing: Finding(.mediaTools, .stop, "exiftool is not installed; \(loss)", remedy: remedy)
        case .broken(let reason):
            Finding(.mediaTools, .stop, "exiftool does not work (\(reason)); \(loss)", remedy: remedy)
        }
    }

    private var workerFinding: Finding {
        let loss =
            "pictures are uploaded without dimensions and thumbnails, avatars have no styles, profile pictures are not sent"
        func warning(_ what: String, _ remedy: String) -> Finding {
            Finding(.mediaTools, .warning, "\(what): \(loss)", remedy: remedy)
        }
        return switch worker {
        case .works(let library): Finding(.mediaTools, .ok, "the picture worker draws with \(library)")
        case .missing(let path):
            warning(
                "there is no picture worker at \(path)", "install outbox-media there, or set OUTBOX_MEDIA to its path")
        case .withoutLibrary:
            warning(
                "the picture worker was built without libvips",
                "`sudo apt-get install --no-install-recommends libvips-dev`, and build again")
        case .broken(let path, let reason):
            Finding(
                .mediaTools, .stop, "the picture worker \(path) does not work (\(reason)): \(loss)",
                remedy: "run `\(path) --version`, and install it again")
        }
    }

    private var videoFinding: Finding {
        let remedy = "sudo apt-get install ffmpeg"
        switch (ffprobe, ffmpeg) {
        case (.works(let version), .works):
            return Finding(.mediaTools, .ok, "ffprobe and ffmpeg \(version) examine videos")
        case (.missing, _):
            return Finding(
                .mediaTools, .note, "ffprobe is not installed: videos have no dimensions, duration and thumbnails",
                remedy: remedy)
        case (_, .missing):
            return Finding(.mediaTools, .note, "ffmpeg is not installed: videos have no thumbnails", remedy: remedy)
        case (.broken(let reason), _):
            return Finding(
                .mediaTools, .warning,
                "ffprobe does not work (\(reason)): videos have no dimensions, duration and thumbnails",
                remedy: "run `ffprobe -version`, and install ffmpeg again")
        case (_, .broken(let reason)):
            return Finding(
                .mediaTools, .warning, "ffmpeg does not work (\(reason)): videos have no thumbnails",
                remedy: "run `ffmpeg -version`, and install ffmpeg again")
        }
    }
}

extension MediaToolsFacts.Worker {
    /// Whether the worker can't be used.
    fileprivate var isMissing: Bool { if case .works = self { false } else { true } }
}

extension MediaToolsFacts.Tool {
    /// Whether the program can't be used.
    fileprivate var isMissing: Bool { if case .works = self { false } else { true } }
}

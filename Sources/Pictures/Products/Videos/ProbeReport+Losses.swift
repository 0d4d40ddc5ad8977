import MediaTools

/// What a conversion can't keep. A video with any of it stays as it is.
extension ProbeReport {
    /// Tracks of data that may go: time codes, chapters (which ffmpeg keeps on its own), and what phones write for their
    /// own players.
    private static let harmlessData: Set = ["tmcd", "text", "mebx", "rtp "]

    /// What the video holds that no conversion keeps, for display; nil if nothing was found.
    var obstacle: String? {
        let streams = (streams ?? []).filter { $0.disposition?["attached_pic"] != 1 }
        let pictures = streams.filter { $0.kind == "video" }
        if pictures.count > 1 { return "several tracks of pictures" }
        for stream in pictures {
            let sideData = (stream.sideDataList ?? []) + (frames ?? []).flatMap { $0.sideDataList ?? [] }
            if stream.tags?["spherical-video"] != nil || sideData.contains(where: { $0.type == "Spherical Mapping" }) {
                return "spherical pictures (360°)"
            }
            let stereo = stream.tags?["stereo_mode"] ?? "mono"
            if stereo != "mono" || sideData.contains(where: { $0.type == "Stereo 3D" && $0.detail != "2D" }) {
                return "stereoscopic pictures"
            }
            if stream.isTransparent { return "transparency" }
        }
        // Spatial sound of phones lies beside the same sound as AAC.
        if streams.filter({ $0.kind == "audio" && $0.tag != "apac" }).count > 1 { return "several tracks of sound" }
        if streams.contains(where: { $0.kind == "subtitle" }) { return "subtitles" }
        let others = streams.filter { !["video", "audio", "subtitle"].contains($0.kind ?? "") }
        if let other = others.first(where: { !Self.harmlessData.contains($0.tag ?? "") }) {
            return other.kind == "attachment" ? "attached files" : "a track of data"
        }
        return nil
    }
}

extension ProbeReport.Stream {
    /// Formats of pixels with an alpha channel, of ffmpeg (man 1 ffmpeg, -pix_fmts).
    private static let transparent = ["yuva", "rgba", "bgra", "argb", "abgr", "gbrap", "ya8", "ya16", "vuya", "ayuv"]

    fileprivate var isTransparent: Bool {
        let format = pixelFormat ?? ""
        // WebM has transparency in blocks beside the pictures.
        return Self.transparent.contains { format.hasPrefix($0) } || tags?["alpha_mode"] == "1"
    }

    /// Whether the pictures are red, green and blue.
    var isRGB: Bool {
        ["rgb", "bgr", "gbr", "0rgb", "0bgr", "pal8"].contains { (pixelFormat ?? "").hasPrefix($0) }
    }

    /// Whether players take the colours for those of BT.709, because nothing is said about them and the pictures are high.
    var isUntaggedHD: Bool {
        let sides = [width ?? 0, height ?? 0].sorted()
        return colourSpace ?? "unknown" == "unknown" && (sides[0] >= 720 || sides[1] >= 1280)
    }
}

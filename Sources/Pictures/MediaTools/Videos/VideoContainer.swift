package import UploadCore

/// The container that ffmpeg must expect, by its demuxer's name (man 1 ffmpeg-formats).
///
/// ffmpeg must not guess the container. A playlist or a concat script with a video's name, or even its first bytes,
/// would make ffmpeg read other files and addresses.
package enum VideoContainer: String, Sendable, CaseIterable {
    case mov
    case matroska
    case avi
    case flv
    case mpegts
    case mpeg

    /// The container of a media type; nil if the type is no video.
    package init?(_ type: MediaType) {
        switch type.mime {
        case "video/mp4", "video/quicktime", "video/x-m4v", "video/3gpp", "video/3gpp2": self = .mov
        case "video/x-matroska", "video/webm": self = .matroska
        case "video/x-msvideo": self = .avi
        case "video/x-flv": self = .flv
        case "video/mp2t": self = .mpegts
        case "video/mpeg": self = .mpeg
        default: return nil
        }
    }

    /// Decoders for cameras, phones and the web. The several hundred others are rarely used and poorly maintained.
    private static let decoders = [
        "h264", "hevc", "vp8", "vp9", "av1", "libdav1d", "libaom-av1", "libvpx", "libvpx-vp9", "mpeg4", "mpeg2video",
        "mpeg1video", "h263", "h263i", "flv", "vp6", "vp6a", "vp6f", "mjpeg", "msmpeg4v1", "msmpeg4", "msmpeg4v2",
        "wmv1", "wmv2", "wmv3", "vc1", "dvvideo", "prores", "dnxhd", "theora", "rawvideo", "ffv1", "huffyuv", "cinepak",
        "svq1", "svq3", "rpza", "qtrle", "png",
    ]

    /// The decoders of the sound beside these.
    private static let soundDecoders = [
        "aac", "aac_latm", "aac_fixed", "mp3", "mp3float", "mp2", "mp2float", "mp1", "mp1float", "ac3", "eac3", "dca",
        "opus", "libopus", "vorbis", "libvorbis", "flac", "alac", "amrnb", "amrwb", "libopencore_amrnb",
        "libopencore_amrwb", "nellymoser", "speex", "libspeex", "wmav1", "wmav2", "adpcm_ima_qt", "adpcm_ima_wav",
        "adpcm_ms", "adpcm_swf", "qdm2", "pcm_alaw", "pcm_mulaw", "pcm_u8", "pcm_s8", "pcm_s16le", "pcm_s16be",
        "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be", "pcm_f32le", "pcm_f32be", "pcm_bluray", "pcm_dvd",
    ]

    /// Options before the input to read pictures and sound of the whole video.
    package func conversionOptions(threads: Int) -> [String] {
        inputOptions(maximumPixels: VideoTools.maximumPixels, threads: threads) + [
            "-codec_whitelist", (Self.decoders + Self.soundDecoders).joined(separator: ","),
        ]
    }

    /// Options before the input, for both ffprobe and ffmpeg.
    func inputOptions(maximumPixels: Int, threads: Int = 1) -> [String] {
        var options = [
            "-protocol_whitelist", "file", "-format_whitelist", rawValue,
            "-max_pixels", String(maximumPixels), "-threads", String(threads), "-f", rawValue,
        ]
        // A QuickTime file may refer to other files for its pictures.
        if self == .mov { options += ["-enable_drefs", "0", "-use_absolute_path", "0"] }
        // These containers announce no tracks. Unless told otherwise, ffmpeg looks for them in 5 MB and 5 seconds.
        if self == .mpeg || self == .flv {
            options += ["-probesize", "\(256 << 20)", "-analyzeduration", "\(86_400_000_000)"]
        }
        return options
    }

    /// All options to write one picture near a moment, in seconds, to standard output.
    func frameOptions(at moment: Double) -> [String] {
        var options = inputOptions(maximumPixels: VideoTools.maximumPixels)
        // Not for ffprobe, which also examines sound and subtitles, and fails on a stream with an unlisted codec.
        options += ["-codec_whitelist", Self.decoders.joined(separator: ",")]
        // The key frame before the moment suffices, and only one frame must be decoded.
        if moment > 0 { options += ["-noaccurate_seek", "-ss", "\(moment)"] }
        return options + [
            "-an", "-sn", "-dn", "-i", VideoTools.input,
            "-map", "0:V:0", "-map_metadata", "-1", "-frames:v", "1", "-vf", Self.shape, "-filter_threads", "1",
            "-c:v", "png", "-threads", "1", "-f", "image2pipe", "pipe:1",
        ]
    }

    /// Square pixels, no side over 640 or below 1; 16 bits for pictures of more than 8, which may be of high dynamic range. ffmpeg has already rotated the picture upright.
    private static let shape: String = {
        let pixel = "if(sar,clip(sar,1/16,16),1)"
        let factor = "min(1,640/max(iw*\(pixel),ih))"
        return "scale=w='max(1,iw*\(pixel)*\(factor))':h='max(1,ih*\(factor))',setsar=1,format=rgb24|rgb48be"
    }()
}

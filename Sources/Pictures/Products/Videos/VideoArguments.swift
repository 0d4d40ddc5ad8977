import MediaTools

/// The arguments of ffmpeg for a conversion (man 1 ffmpeg). Standard input is the video, descriptor 3 the result.
enum VideoArguments {
    /// The result, reopened: an MP4 file needs seeking.
    private static let output = "file:/proc/self/fd/3"

    static func all(
        for plan: VideoPlan, in container: VideoContainer, threads: Int, place: String?
    ) -> [String] {
        var arguments = VideoTools.quiet + ["-nostdin", "-y", "-progress", "pipe:1", "-xerror"]
        arguments += container.conversionOptions(threads: threads + 1) + ["-i", VideoTools.input]
        switch plan {
        case .leave: break
        case .remux: arguments += ["-map", "0:V", "-map", "0:a?", "-c", "copy"]
        case .transcode(let transcoding): arguments += transcoding.arguments(threads: threads)
        }
        return arguments + metadata(place: place) + ["-f", "mp4", output]
    }

    /// Keeps date, camera and place of the video. Apple's names of tags survive only with `use_metadata_tags`.
    ///
    /// - Parameter place: Where the video was taken (ISO 6709). It gets Apple's tag, and only that one: the
    ///   tags of Android have no place in such a file.
    private static func metadata(place: String?) -> [String] {
        var arguments = ["-map_metadata", "0", "-movflags", "+faststart+use_metadata_tags"]
        // These describe the former container.
        for name in ["major_brand", "minor_version", "compatible_brands", "location", "location-eng"] {
            arguments += ["-metadata", "\(name)="]
        }
        if let place { arguments += ["-metadata", "com.apple.quicktime.location.ISO6709=\(place)"] }
        return arguments
    }
}

extension Transcoding {
    fileprivate func arguments(threads: Int) -> [String] {
        var arguments = ["-map", "0:\(video)"]
        if let sound { arguments += ["-map", "0:\(sound.index)"] }
        arguments += [
            "-sn", "-dn", "-vf", filters, "-filter_threads", "\(threads)",
            // Frames keep their times: otherwise ffmpeg doubles and drops some to get an even rate.
            "-fps_mode", "vfr", "-enc_time_base:v", "1:90000", "-video_track_timescale", "90000",
            "-c:v", "libx264", "-crf", "\(quality)", "-threads:v", "\(threads * 3 / 2)",
        ]
        switch sound {
        case nil: arguments += ["-an"]
        case let sound? where sound.isCopied: arguments += ["-c:a", "copy"]
        case let sound?: arguments += ["-c:a", "aac", "-b:a", "\(64 * sound.channels)k", "-ac", "\(sound.channels)"]
        }
        return arguments
    }

    /// ffmpeg has already turned the pictures upright.
    private var filters: String {
        let fields = isInterlaced ? "bwdif=mode=send_frame:deint=interlaced," : ""
        let scaled: String
        if let highDynamicRange {
            // Light is mapped in linear values; 100 candela a square metre become white.
            scaled =
                "zscale=w=\(width):h=\(height):tin=\(highDynamicRange.rawValue):pin=bt2020:min=bt2020nc:t=linear:npl=100,"
                + "format=gbrpf32le,zscale=p=bt709,tonemap=tonemap=hable:desat=0,zscale=t=bt709:m=bt709:r=tv"
        } else {
            let matrices = untagged == .highDefinition ? ":in_color_matrix=bt709" : ""
            scaled = "scale=w=\(width):h=\(height)" + (untagged == nil ? "" : matrices + ":out_color_matrix=bt709")
        }
        let names = untagged == nil ? "" : ",setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709"
        return fields + scaled + ",setsar=1,format=yuv420p" + names
    }
}

extension Configuration {
    /// Settings that this version does not support yet, one line each. Logged at every start, so that nobody relies
    /// on them.
    package var notBuilt: [String] {
        let defaults = Media()
        let wishes: [(Bool, String)] = [
            (media.compressImages != defaults.compressImages, "media.compress_images: pictures are sent as they are"),
            (media.transcodeVideo != defaults.transcodeVideo, "media.transcode_video: videos are sent as they are"),
        ]
        return wishes.filter(\.0).map { "not built yet, has no effect: \($0.1)" }
    }

    /// Returns why `outbox run` refuses to start with this valid configuration; `nil` if it starts. Blocks on the
    /// disk.
    package func startRefusal() -> String? { notBuiltRefusal ?? nestingRefusal() }

    /// The refusal for an unsupported setting that must not be ignored silently; `nil` if there is none.
    var notBuiltRefusal: String? {
        if media.stripLocation {
            return "media.strip_location = true is not built yet, and locations must not be sent against your wish; "
                + "set it to false to send files as they are"
        }
        return nil
    }
}

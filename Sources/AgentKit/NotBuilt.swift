extension Configuration {
    /// What the configuration asks for and this version does not do yet, one line each; said at every start, so that
    /// nobody relies on it.
    var notBuilt: [String] {
        let defaults = Media()
        let wishes: [(Bool, String)] = [
            (media.compressImages != defaults.compressImages, "media.compress_images: pictures are sent as they are"),
            (media.transcodeVideo != defaults.transcodeVideo, "media.transcode_video: videos are sent as they are"),
        ]
        return wishes.filter(\.0).map { "not built yet, has no effect: \($0.1)" }
    }

    /// Why `outbox run` refuses to start with this valid configuration; nil if it starts. This blocks on the disk.
    public func startRefusal() -> String? { notBuiltRefusal ?? nestingRefusal() }

    /// What the configuration asks for that must not be passed over in silence; nil when there is nothing.
    var notBuiltRefusal: String? {
        if remote.protocol != .filesection {
            return "remote.protocol = \"\(remote.protocol.rawValue)\" is not built yet; use \"filesection\""
        }
        if media.stripLocation {
            return "media.strip_location = true is not built yet, and locations must not be sent against your wish; "
                + "set it to false to send files as they are"
        }
        return nil
    }
}

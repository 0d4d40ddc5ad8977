#if canImport(CVips)
    import CVips
    import LinuxSystem
    import SystemPackage

    /// Where libvips reads a picture's bytes from; used for one load only.
    final class PictureSource {
        private let raw: UnsafeMutablePointer<VipsSource>
        private let file: SharedDescriptor?

        /// A source of a file's bytes.
        init(_ file: SharedDescriptor, length: UInt64) {
            self.file = file
            raw = outbox_source(file.rawValue, Int64(clamping: length))
        }

        private init() {
            file = nil
            // libvips aborts over sources of length 0.
            raw = outbox_source(-1, 1)
        }

        /// A source that can't be read.
        static func nothing() -> PictureSource { PictureSource() }

        deinit { g_object_unref(raw) }

        /// Why the file could not be read, if that is what went wrong.
        var readFailure: Errno? {
            let code = outbox_source_failure(raw)
            return code == 0 ? nil : Errno(rawValue: code)
        }

        /// Reads the header with the decoder of this format; nothing is decoded until pixels are asked for.
        ///
        /// - Parameter share: the share of each side that will be left in the end, 0…1. Where the decoder can make a
        ///   smaller picture, it makes one that still has twice the pixels needed along each side: it only averages
        ///   blocks, and the last step is to be a good filter's.
        func load(_ format: PictureFormat, keeping share: Double) throws(VipsFailure) -> Image {
            switch format {
            case .jpeg:
                let shrink = [8, 4, 2].first { Double($0) * 2 * share <= 1 } ?? 1
                return try Image { outbox_load_jpeg(raw, $0, Int32(shrink)) }
            case .webp: return try Image { outbox_load_webp(raw, $0, min(1, 2 * share)) }
            case .png: return try Image { outbox_load_png(raw, $0) }
            case .gif: return try Image { outbox_load_gif(raw, $0) }
            case .heif, .avif: return try Image { outbox_load_heif(raw, $0) }
            case .tiff: return try Image { outbox_load_tiff(raw, $0) }
            }
        }
    }
#endif

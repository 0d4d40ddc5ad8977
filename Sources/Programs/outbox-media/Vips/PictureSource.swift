#if canImport(CVips)
    import CVips
    import LinuxSystem
    import SystemPackage

    /// The source of a picture's bytes for libvips; used for one load only.
    final class PictureSource {
        private let raw: UnsafeMutablePointer<VipsSource>
        private let file: SharedDescriptor?

        /// Creates a source for a file.
        init(_ file: SharedDescriptor, length: UInt64) {
            self.file = file
            raw = outbox_source(file.rawValue, Int64(clamping: length))
        }

        private init() {
            file = nil
            // libvips aborts on sources of length 0.
            raw = outbox_source(-1, 1)
        }

        /// Creates an unreadable source.
        static func nothing() -> PictureSource { PictureSource() }

        deinit { g_object_unref(raw) }

        /// The error of a failed read of the file, if any.
        var readFailure: Errno? {
            let code = outbox_source_failure(raw)
            return code == 0 ? nil : Errno(rawValue: code)
        }

        /// Reads the header with this format's decoder. Pixels are decoded only on demand.
        ///
        /// - Parameter share: The remaining share of each side in the result, 0…1. A decoder that can shrink keeps at
        ///   least twice the needed pixels along each side: it only averages blocks, and a better filter does the last
        ///   step.
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

#if canImport(CVips)
    import CVips
    import Glibc

    /// libvips as this program uses it: decoders that were not chosen are blocked, nothing is kept between jobs, and
    /// whatever is loaded on first use is loaded.
    enum VipsLibrary {
        /// The loaders of the formats that are taken, by the names of their classes.
        private static let loaders: [PictureFormat: String] = [
            .jpeg: "VipsForeignLoadJpegSource", .png: "VipsForeignLoadPngSource",
            .gif: "VipsForeignLoadNsgifSource", .webp: "VipsForeignLoadWebpSource",
            .heif: "VipsForeignLoadHeifSource", .avif: "VipsForeignLoadHeifSource",
            .tiff: "VipsForeignLoadTiffSource",
        ]

        /// For people: the library and its version.
        static var name: String { "libvips \(String(cString: vips_version_string()))" }

        /// Starts the library.
        ///
        /// - Returns: the formats it reads, since distributions leave some out.
        /// - Throws: ``VipsFailure`` where it does not start.
        static func start() throws(VipsFailure) -> [PictureFormat] {
            // Variables would have a say in what libvips, its modules and glib load, and where they write.
            clearenv()
            // Larger pictures than this stay in memory too: there is no place to put them.
            setenv("VIPS_DISC_THRESHOLD", "1024g", 1)
            guard outbox_vips_start("outbox-media") == 0 else { throw .last() }
            outbox_silence_warnings()
            // Code made at run time would need memory that is both written and run.
            vips_vector_set_enabled(0)
            // Several pictures at once are several processes.
            vips_concurrency_set(1)
            vips_cache_set_max(0)
            vips_cache_set_max_mem(0)
            vips_cache_set_max_files(0)
            vips_block_untrusted_set(1)
            vips_operation_block_set("VipsForeignLoad", 1)
            for name in loaders.values { vips_operation_block_set(name, 0) }
            let formats = PictureFormat.allCases.filter { format in
                loaders[format].map { g_type_from_name($0) != 0 } ?? false
            }
            preload(formats)
            return formats
        }

        /// Profiles and some decoders are loaded when they are first asked for: libheif's are files of their own.
        private static func preload(_ formats: [PictureFormat]) {
            for format in formats { _ = try? PictureSource.nothing().load(format, keeping: 1) }
            for profile in ["srgb", "cmyk"] { _ = outbox_load_profile(profile) }
            vips_error_clear()
        }
    }
#endif

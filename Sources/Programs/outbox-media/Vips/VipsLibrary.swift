#if canImport(CVips)
    import CVips
    import Glibc
    import SystemPackage

    /// Sets up libvips for this program: blocks unwanted decoders, disables caches between jobs, and preloads
    /// everything that would be loaded on first use.
    enum VipsLibrary {
        /// The class names of the loaders for supported formats.
        private static let loaders: [PictureFormat: String] = [
            .jpeg: "VipsForeignLoadJpegSource", .png: "VipsForeignLoadPngSource",
            .gif: "VipsForeignLoadNsgifSource", .webp: "VipsForeignLoadWebpSource",
            .heif: "VipsForeignLoadHeifSource", .avif: "VipsForeignLoadHeifSource",
            .tiff: "VipsForeignLoadTiffSource",
        ]

        /// The library and its version, for display.
        static var name: String { "libvips \(String(cString: vips_version_string()))" }

        /// Starts the library.
        ///
        /// - Returns: The formats it reads; some distributions omit formats.
        /// - Throws: ``VipsFailure`` if the start fails.
        static func start() throws(VipsFailure) -> [PictureFormat] {
            // Environment variables could change what libvips, its modules and glib load, and where they write.
            clearenv()
            // Keep pictures in memory up to this size: there is no place for temporary files.
            setenv("VIPS_DISC_THRESHOLD", "1024g", 1)
            guard startWithoutOtherModules() else { throw .last() }
            outbox_silence_warnings()
            // Run-time code generation would need memory that is both writable and executable.
            vips_vector_set_enabled(0)
            // Concurrency comes from several processes, one picture each.
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

        /// Starts libvips with the module for HEIF at most.
        ///
        /// By itself libvips loads all its modules, which it looks for below `VIPSHOME`. Those for PDF, slides, JPEG XL and the
        /// formats of ImageMagick need time and memory, and none of their decoders may run here.
        private static func startWithoutOtherModules() -> Bool {
            let modules = modules
            if modules != nil { setenv("VIPSHOME", "/nonexistent", 1) }
            guard outbox_vips_start("outbox-media") == 0 else { return false }
            // Without this module, or if it does not load, HEIF and AVIF are missing among the formats.
            if let modules { _ = g_module_open(modules.appending("vips-heif.so").string, G_MODULE_BIND_LAZY) }
            return true
        }

        /// The directory of the modules, beside the library; nil if it is not there, or the library was built without modules.
        private static var modules: FilePath? {
            guard let library = outbox_vips_path() else { return nil }
            let name = "vips-modules-\(vips_version(0)).\(vips_version(1))"
            let modules = FilePath(platformString: library).removingLastComponent().appending(name)
            return access(modules.string, X_OK) == 0 ? modules : nil
        }

        /// Preloads profiles and decoders that are loaded on first use: libheif's decoders are separate files.
        private static func preload(_ formats: [PictureFormat]) {
            for format in formats { _ = try? PictureSource.nothing().load(format, keeping: 1) }
            for profile in ["srgb", "cmyk"] { _ = outbox_load_profile(profile) }
            vips_error_clear()
        }
    }
#endif

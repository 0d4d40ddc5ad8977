#if canImport(CVips)
    import CVips

    /// The error of a failed libvips call.
    struct VipsFailure: Error {
        /// One line.
        let message: String
        /// Whether the cause was a lack of memory.
        var isOutOfMemory: Bool { message.contains("out of memory") }

        /// Takes the message of the last failed call.
        static func last() -> VipsFailure {
            let text = String(cString: vips_error_buffer())
            vips_error_clear()
            // Later lines come from outer calls and are less specific. Some decoder messages contain text from the
            // file.
            let line = text.split(whereSeparator: \.isNewline).first ?? "the picture cannot be decoded"
            let printable = line.unicodeScalars.prefix(300).map { $0.properties.generalCategory == .control ? " " : $0 }
            return VipsFailure(message: String(String.UnicodeScalarView(printable)))
        }
    }

    /// A libvips image: a lazy pipeline that computes pixels on demand.
    final class Image {
        /// The libvips object.
        let raw: UnsafeMutablePointer<VipsImage>

        /// Creates the image that `call` returns.
        init(
            _ call: (UnsafeMutablePointer<UnsafeMutablePointer<VipsImage>?>) -> Int32
        ) throws(VipsFailure) {
            var made: UnsafeMutablePointer<VipsImage>?
            guard call(&made) == 0, let made else { throw .last() }
            raw = made
        }

        /// Copies pixels in memory: 8 bits, red, green, blue and alpha.
        init(_ pixels: Pixels) throws(VipsFailure) {
            let made = pixels.bytes.withUnsafeBytes { bytes in
                vips_image_new_from_memory_copy(
                    bytes.baseAddress, bytes.count, Int32(pixels.width), Int32(pixels.height), 4, VIPS_FORMAT_UCHAR)
            }
            guard let made else { throw .last() }
            defer { g_object_unref(made) }
            var named: UnsafeMutablePointer<VipsImage>?
            guard outbox_name_interpretation(made, &named, VIPS_INTERPRETATION_sRGB) == 0, let named else {
                throw .last()
            }
            raw = named
        }

        /// Copies one row of one channel.
        init(row: [Float]) throws(VipsFailure) {
            let made = row.withUnsafeBytes { bytes in
                vips_image_new_from_memory_copy(
                    bytes.baseAddress, bytes.count, Int32(row.count), 1, 1, VIPS_FORMAT_FLOAT)
            }
            guard let made else { throw .last() }
            raw = made
        }

        private init(owning raw: UnsafeMutablePointer<VipsImage>) {
            self.raw = raw
        }

        deinit { g_object_unref(raw) }

        var width: Int { Int(vips_image_get_width(raw)) }
        var height: Int { Int(vips_image_get_height(raw)) }
        var bands: Int { Int(vips_image_get_bands(raw)) }
        var format: VipsBandFormat { vips_image_get_format(raw) }
        var hasAlpha: Bool { vips_image_hasalpha(raw) != 0 }
        /// EXIF orientation, 1…8; values from 5 on swap width and height.
        var orientation: Int { Int(vips_image_get_orientation(raw)) }

        /// The number of pictures in the file.
        var pages: Int { Int(vips_image_get_n_pages(raw)) }
        /// Whether a JPEG file can hold the pixels without conversion: grey, or red, green and blue, of 8 bits.
        var fitsJPEG: Bool {
            guard format == VIPS_FORMAT_UCHAR else { return false }
            switch vips_image_get_interpretation(raw) {
            case VIPS_INTERPRETATION_sRGB: return bands == 3
            case VIPS_INTERPRETATION_B_W: return bands == 1
            default: return false
            }
        }

        /// Returns metadata of the file, such as the EXIF block; nil if there is none.
        func metadata(_ name: String) -> [UInt8]? {
            var start: UnsafeRawPointer?
            var count = 0
            guard vips_image_get_typeof(raw, name) != 0, vips_image_get_blob(raw, name, &start, &count) == 0, let start
            else { return nil }
            return Array(UnsafeRawBufferPointer(start: start, count: count))
        }

        /// Computes the pixels now.
        func pixels() throws(VipsFailure) -> Pixels {
            var count = 0
            guard let start = vips_image_write_to_memory(raw, &count) else { throw .last() }
            defer { g_free(start) }
            return Pixels(
                width: width, height: height, bytes: Array(UnsafeRawBufferPointer(start: start, count: count)))
        }

        /// Computes the pixels now and keeps them in memory, for access in any order.
        func inMemory() throws(VipsFailure) -> Image {
            guard let copy = vips_image_copy_memory(raw) else { throw .last() }
            return Image(owning: copy)
        }

        /// Rotates and mirrors according to the orientation. Computes the pixels now: rows are decoded from top to
        /// bottom, and rotation needs another order.
        func upright() throws(VipsFailure) -> Image {
            if orientation <= 1 { return self }
            let whole = try inMemory()
            return try Image { outbox_turn_upright(whole.raw, $0) }
        }

        /// Returns the file that `save` encodes.
        func saved(
            _ save: (
                UnsafeMutablePointer<VipsImage>, UnsafeMutablePointer<UnsafeMutableRawPointer?>,
                UnsafeMutablePointer<Int>
            ) -> Int32
        ) throws(VipsFailure) -> [UInt8] {
            var start: UnsafeMutableRawPointer?
            var count = 0
            guard save(raw, &start, &count) == 0, let start else { throw .last() }
            defer { g_free(start) }
            return Array(UnsafeRawBufferPointer(start: start, count: count))
        }
    }
#endif

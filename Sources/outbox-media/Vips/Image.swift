#if canImport(CVips)
    import CVips

    /// What libvips says of a call that failed.
    struct VipsFailure: Error {
        /// One line.
        let message: String
        /// Whether it was for lack of memory.
        var isOutOfMemory: Bool { message.contains("out of memory") }

        /// Takes the message of the last call that failed.
        static func last() -> VipsFailure {
            let text = String(cString: vips_error_buffer())
            vips_error_clear()
            // Later lines are of calls further out, and say less; some of what decoders say comes from the file.
            let line = text.split(whereSeparator: \.isNewline).first ?? "it cannot be decoded"
            let printable = line.unicodeScalars.prefix(300).map { $0.properties.generalCategory == .control ? " " : $0 }
            return VipsFailure(message: String(String.UnicodeScalarView(printable)))
        }
    }

    /// An image of libvips: a plan of how pixels are made, which runs when they are asked for.
    final class Image {
        /// libvips' own.
        let raw: UnsafeMutablePointer<VipsImage>

        /// The image that `call` makes.
        init(
            _ call: (UnsafeMutablePointer<UnsafeMutablePointer<VipsImage>?>) -> Int32
        ) throws(VipsFailure) {
            var made: UnsafeMutablePointer<VipsImage>?
            guard call(&made) == 0, let made else { throw .last() }
            raw = made
        }

        /// Pixels in memory, which are copied: 8 bits, red, green, blue and alpha.
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

        private init(owning raw: UnsafeMutablePointer<VipsImage>) {
            self.raw = raw
        }

        deinit { g_object_unref(raw) }

        var width: Int { Int(vips_image_get_width(raw)) }
        var height: Int { Int(vips_image_get_height(raw)) }
        var bands: Int { Int(vips_image_get_bands(raw)) }
        var format: VipsBandFormat { vips_image_get_format(raw) }
        var hasAlpha: Bool { vips_image_hasalpha(raw) != 0 }
        /// 1…8, as EXIF counts; 5 and above swap width and height.
        var orientation: Int { Int(vips_image_get_orientation(raw)) }

        /// The pixels, made now.
        func pixels() throws(VipsFailure) -> Pixels {
            var count = 0
            guard let start = vips_image_write_to_memory(raw, &count) else { throw .last() }
            defer { g_free(start) }
            return Pixels(
                width: width, height: height, bytes: Array(UnsafeRawBufferPointer(start: start, count: count)))
        }

        /// The same with its pixels made now and kept in memory, where they can be had in any order.
        func inMemory() throws(VipsFailure) -> Image {
            guard let copy = vips_image_copy_memory(raw) else { throw .last() }
            return Image(owning: copy)
        }

        /// Turned and mirrored as its orientation says. The pixels are made now: rows are decoded from the top down, and
        /// turning asks for them in another order.
        func upright() throws(VipsFailure) -> Image {
            if orientation <= 1 { return self }
            let whole = try inMemory()
            return try Image { outbox_turn_upright(whole.raw, $0) }
        }

        /// The file's bytes that `save` makes.
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

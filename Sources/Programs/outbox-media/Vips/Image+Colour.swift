#if canImport(CVips)
    import CVips

    extension Image {
        /// Converts to sRGB with 8 bits: red, green, blue, and alpha if present.
        func inSRGB() throws(VipsFailure) -> Image {
            let converted = try withKnownColours().convertedToSRGB()
            let channels = converted.hasAlpha ? 4 : 3
            let trimmed =
                converted.bands > channels
                ? try Image { outbox_first_bands(converted.raw, $0, Int32(channels)) } : converted
            if trimmed.format == VIPS_FORMAT_UCHAR { return trimmed }
            return try Image { outbox_cast(trimmed.raw, $0, VIPS_FORMAT_UCHAR) }
        }

        /// Makes transparent what the first picture of a GIF file leaves free, which libvips draws black.
        func clear(around frame: GIFFrame?) throws(VipsFailure) -> Image {
            guard let frame, !frame.isWhole, !hasAlpha, frame.left + frame.width <= width,
                frame.top + frame.height <= height
            else { return self }
            let (left, top) = (Int32(frame.left), Int32(frame.top))
            let drawn = try Image {
                outbox_crop(raw, $0, left, top, Int32(frame.width), Int32(frame.height))
            }
            let opaque = try drawn.withAlpha()
            return try Image { outbox_embed(opaque.raw, $0, left, top, Int32(width), Int32(height)) }
        }

        /// Adds an opaque alpha band if there is none.
        func withAlpha() throws(VipsFailure) -> Image {
            hasAlpha ? self : try Image { outbox_add_opaque_alpha(raw, $0) }
        }

        /// Flattens alpha onto white, the usual background of viewers.
        func withoutAlpha() throws(VipsFailure) -> Image {
            hasAlpha ? try Image { outbox_flatten_on_white(raw, $0) } : self
        }

        /// Brings high dynamic range into the range of sRGB: darker parts keep their brightness, lights are compressed.
        func inStandardRange(from colour: CodedColour?) throws(VipsFailure) -> Image {
            guard let range = colour?.highDynamicRange, bands >= 3, let codes = format.codes else { return self }
            let light = (0..<codes).map { Float(range.shown(Double($0) / Double(codes - 1))) }
            let table = try Image(row: light)
            let coloured = try Image { outbox_first_bands(raw, $0, 3) }
            let linear = try Image { outbox_map(coloured.raw, $0, table.raw) }
            let matrix = colour?.toBT709 ?? []
            let known = matrix.isEmpty ? linear : try Image { outbox_recombine(linear.raw, $0, matrix) }
            let isWide = format == VIPS_FORMAT_USHORT
            let shown = try Image {
                outbox_encode_light(known.raw, $0, isWide ? VIPS_INTERPRETATION_RGB16 : VIPS_INTERPRETATION_sRGB)
            }
            if !hasAlpha { return shown }
            let alpha = try Image { outbox_last_band(raw, $0) }
            return try Image { outbox_join_bands(shown.raw, alpha.raw, $0) }
        }

        private var isCMYK: Bool { vips_image_get_interpretation(raw) == VIPS_INTERPRETATION_CMYK }

        private func convertedToSRGB() throws(VipsFailure) -> Image {
            if isCMYK || vips_image_get_typeof(raw, VIPS_META_ICC_NAME) != 0 {
                // Broken or mismatched profiles are common, and no reason to refuse a picture.
                let transformed = try? Image { outbox_transform_to_srgb(raw, $0, isCMYK ? "cmyk" : "srgb") }
                if let transformed { return transformed }
                vips_error_clear()
            }
            if vips_image_get_interpretation(raw) == VIPS_INTERPRETATION_sRGB { return self }
            return try Image { outbox_interpret_as_srgb(raw, $0) }
        }

        /// If the file does not specify the meaning of its bands, assumes the usual one.
        private func withKnownColours() throws(VipsFailure) -> Image {
            if vips_colourspace_issupported(raw) != 0 { return self }
            let isWide = format == VIPS_FORMAT_USHORT
            let usual =
                switch (bands < 3, isWide) {
                case (true, true): VIPS_INTERPRETATION_GREY16
                case (true, false): VIPS_INTERPRETATION_B_W
                case (false, true): VIPS_INTERPRETATION_RGB16
                case (false, false): VIPS_INTERPRETATION_sRGB
                }
            return try Image { outbox_name_interpretation(raw, $0, usual) }
        }
    }

    extension VipsBandFormat {
        /// The number of codes of a channel; nil for formats other than 8 and 16 bits.
        fileprivate var codes: Int? { self == VIPS_FORMAT_UCHAR ? 256 : self == VIPS_FORMAT_USHORT ? 65_536 : nil }
    }
#endif

#if canImport(CVips)
    import CVips
    import PictureJobs

    extension Picture {
        /// Draws a PNG with alpha. The first step decides how much of the picture must be decoded.
        func drawn(by steps: [PictureStep]) throws(JobFailure) -> [UInt8] {
            let drawing = steps.filter { $0 != .original }
            let inner = drawing.first?.innerSize ?? (width: .max, height: .max)
            return try decoded(coveringWidth: inner.width, height: inner.height) { image throws(VipsFailure) in
                if drawing.isEmpty { return try image.inSRGB().upright().png() }
                var drawn = image
                for step in drawing { drawn = try drawn.drawn(by: step) }
                return try drawn.png()
            }
        }
    }

    extension Image {
        /// Encodes a JPEG file without metadata.
        func jpeg(quality: Int) throws(VipsFailure) -> [UInt8] {
            let image = try withoutAlpha()
            return try image.saved { outbox_save_jpeg($0, $1, $2, Int32(min(max(quality, 1), 100))) }
        }

        /// Encodes a PNG file with alpha and without metadata.
        func png() throws(VipsFailure) -> [UInt8] {
            let image = try withAlpha()
            return try image.saved(outbox_save_png)
        }

        fileprivate func drawn(by step: PictureStep) throws(VipsFailure) -> Image {
            let inner = step.innerSize
            let covering = try covering(width: inner.width, height: inner.height)
            guard case .round(_, _, let radius, let border) = step else { return covering }
            var pixels = try covering.withAlpha().pixels()
            pixels.roundCorners(radius: radius)
            return try Image(pixels.bordered(by: border))
        }
    }

    extension PictureStep {
        /// The size of the picture inside the border.
        fileprivate var innerSize: (width: Int, height: Int) {
            switch self {
            case .original: (.max, .max)
            case .rect(let width, let height): (width, height)
            case .round(let width, let height, _, let border): (width - 2 * border, height - 2 * border)
            }
        }
    }
#endif

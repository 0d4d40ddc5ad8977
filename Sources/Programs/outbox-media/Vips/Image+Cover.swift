#if canImport(CVips)
    import CVips

    extension Image {
        /// Crops around the centre to the requested shape and scales to its size; in sRGB and upright.
        ///
        /// - Parameter width, height: In pixels, of the upright picture.
        func covering(width: Int, height: Int) throws(VipsFailure) -> Image {
            let isSwapped = orientation >= 5
            let (width, height) = isSwapped ? (height, width) : (width, height)
            let (cropped, isEnlarged) = try cropped(toShapeOf: width, height)
            // Enlarging reads rows more than once.
            let source = isEnlarged ? try cropped.inMemory() : cropped
            return try source.resized(toWidth: width, height: height).inSRGB().upright()
        }

        private func cropped(toShapeOf width: Int, _ height: Int) throws(VipsFailure) -> (Image, isEnlarged: Bool) {
            let scale = max(Double(width) / Double(self.width), Double(height) / Double(self.height))
            let kept = (
                width: min(self.width, max(1, Int((Double(width) / scale).rounded()))),
                height: min(self.height, max(1, Int((Double(height) / scale).rounded())))
            )
            if kept == (self.width, self.height) { return (self, scale > 1) }
            let left = Int32((self.width - kept.width) / 2)
            let top = Int32((self.height - kept.height) / 2)
            let image = try Image { outbox_crop(raw, $0, left, top, Int32(kept.width), Int32(kept.height)) }
            return (image, scale > 1)
        }

        /// Scales to this size.
        func resized(toWidth width: Int, height: Int) throws(VipsFailure) -> Image {
            if (width, height) == (self.width, self.height) { return self }
            let horizontal = Double(width) / Double(self.width)
            let vertical = Double(height) / Double(self.height)
            if !hasAlpha { return try Image { outbox_resize(raw, $0, horizontal, vertical) } }
            // Premultiply, so that colours of transparent pixels don't bleed into visible ones.
            let weighted = try Image { outbox_premultiply(raw, $0) }
            let resized = try Image { outbox_resize(weighted.raw, $0, horizontal, vertical) }
            let plain = try Image { outbox_unpremultiply(resized.raw, $0) }
            return try Image { outbox_cast(plain.raw, $0, format) }
        }
    }
#endif

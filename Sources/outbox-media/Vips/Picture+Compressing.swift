#if canImport(CVips)
    import CVips
    import PictureJobs

    extension Picture {
        /// Encodes the whole picture as a JPEG with its metadata.
        ///
        /// The pixels of a JPEG file keep their order, and the orientation stays in the EXIF data. All other files become
        /// upright, because not every reader expects an orientation in them.
        ///
        /// - Parameter maximumSide: A picture with a longer side becomes smaller; 0 allows any size.
        /// - Returns: Nothing if a JPEG can't hold all that the picture shows.
        func compressed(quality: Int, maximumSide: Int) throws(JobFailure) -> [UInt8] {
            guard canBecomeJPEG else { return [] }
            let scale =
                maximumSide > 0 ? min(1, Double(maximumSide) / Double(max(header.width, header.height))) : 1
            func scaled(_ side: Int) -> Int { max(1, Int((Double(side) * scale).rounded())) }
            let format = format
            return try decoded(coveringWidth: scaled(facts.width), height: scaled(facts.height)) {
                image throws(VipsFailure) in
                let sized = try image.resized(toWidth: scaled(header.width), height: scaled(header.height))
                var metadata = PictureMetadata(of: image)
                if let tiff { metadata.exif = ExifBlock(collectedFrom: tiff) }
                let plain = sized.fitsJPEG ? sized : try sized.inSRGB()
                if !sized.fitsJPEG { metadata.profile = nil }
                let placed = format == .jpeg ? plain : try plain.upright()
                if format != .jpeg { metadata.setUpright() }
                if scale < 1 { metadata.exif?.setSize(width: placed.width, height: placed.height) }
                return metadata.added(to: try placed.jpeg(quality: quality)) ?? []
            }
        }

        private var canBecomeJPEG: Bool {
            if header.pages > 1 || header.hasAlpha { return false }
            switch format {
            case .jpeg: return !PictureMetadata(of: header).announcesFilm
            case .png: return !PNGChunks.areAnimated(in: file)
            // More than 8 bits mean high dynamic range.
            case .heif: return header.fitsJPEG
            case .tiff: return true
            case .avif, .gif, .webp: return false
            }
        }
    }

    extension PictureMetadata {
        /// The metadata of a file as libvips read it.
        init(of image: Image) {
            exif = image.metadata(VIPS_META_EXIF_NAME).flatMap(ExifBlock.init)
            xmp = image.metadata(VIPS_META_XMP_NAME)
            iptc = image.metadata(VIPS_META_IPTC_NAME)
            profile = image.metadata(VIPS_META_ICC_NAME)
        }
    }
#endif

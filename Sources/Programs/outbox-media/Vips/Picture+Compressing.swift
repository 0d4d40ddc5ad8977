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
        /// - Returns: Nothing if a JPEG can't hold all that the file does.
        func compressed(quality: Int, maximumSide: Int) throws(JobFailure) -> [UInt8] {
            if header.pages > 1 || header.hasAlpha { return [] }
            // More than 8 bits mean high dynamic range.
            if format == .heif, !header.fitsJPEG { return [] }
            // Converted to sRGB, light beyond white is lost.
            let profile = header.fitsJPEG ? nil : header.metadata(VIPS_META_ICC_NAME)
            if profile.flatMap(CodedColour.named)?.highDynamicRange != nil { return [] }
            do {
                let metadata = try metadata()
                let encoded = try encoded(quality: quality, maximumSide: maximumSide)
                return try completed(encoded, metadata)
            } catch let failure as JobFailure {
                throw failure
            } catch ContainerFailure.endsEarly {
                throw .refused(.damaged, "the file ends early")
            } catch {
                return []
            }
        }

        /// A picture as a JPEG file without metadata.
        private struct Encoded {
            var jpeg: [UInt8]
            var width: Int
            var height: Int
            /// The colour profile of its pixels.
            var profile: [UInt8]?
        }

        private func encoded(quality: Int, maximumSide: Int) throws(JobFailure) -> Encoded {
            let scale =
                maximumSide > 0 ? min(1, Double(maximumSide) / Double(max(header.width, header.height))) : 1
            func scaled(_ side: Int) -> Int { max(1, Int((Double(side) * scale).rounded())) }
            let format = format
            return try decoded(coveringWidth: scaled(facts.width), height: scaled(facts.height)) {
                image throws(VipsFailure) in
                let sized = try image.resized(toWidth: scaled(header.width), height: scaled(header.height))
                let plain = sized.fitsJPEG ? sized : try sized.inSRGB()
                let placed = format == .jpeg ? plain : try plain.upright()
                return Encoded(
                    jpeg: try placed.jpeg(quality: quality), width: placed.width, height: placed.height,
                    profile: sized.fitsJPEG ? image.metadata(VIPS_META_ICC_NAME) : nil)
            }
        }

        /// Adds metadata to an encoded picture, made to fit.
        private func completed(
            _ encoded: Encoded, _ metadata: PictureMetadata
        ) throws(ContainerFailure) -> [UInt8] {
            var metadata = metadata
            metadata.profile = encoded.profile
            let isTurned = format != .jpeg && (metadata.isTurned || header.orientation > 1)
            if format != .jpeg { metadata.setUpright() }
            let before = format == .jpeg ? PictureFacts(width: header.width, height: header.height) : facts
            if isTurned || before != PictureFacts(width: encoded.width, height: encoded.height) {
                try metadata.fit(
                    width: encoded.width, height: encoded.height, isTurned: isTurned,
                    scale: (
                        Double(encoded.width) / Double(before.width), Double(encoded.height) / Double(before.height)
                    ))
            }
            guard let file = metadata.added(to: encoded.jpeg) else { throw .holdsMore }
            return file
        }

        /// The metadata of the file, except the colour profile, if a JPEG can hold all that the file does.
        private func metadata() throws(ContainerFailure) -> PictureMetadata {
            switch format {
            case .jpeg: return try JPEGContainer.metadata(of: bytes)
            case .png: return try PNGContainer.metadata(of: bytes)
            case .heif: return try HEIFContainer(bytes).metadata()
            case .tiff:
                guard let tiff else { throw .endsEarly }
                return try TIFFContainer.metadata(of: tiff, length: bytes.length)
            case .avif, .gif, .webp: throw .holdsMore
            }
        }
    }
#endif

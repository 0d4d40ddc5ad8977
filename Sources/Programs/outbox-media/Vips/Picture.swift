#if canImport(CVips)
    import CVips
    import LinuxSystem
    import PictureJobs
    import SystemPackage

    /// A picture that may be decoded: its format is known, and its header is within the size limits.
    final class Picture {
        /// Maximum side. No camera exceeds this, and JPEG can't. One row of a longer side could need the memory of a
        /// whole picture.
        private static let longestSide = 65535
        /// Maximum size of GIF and WebP files, which are read into memory as a whole.
        private static let longestWholeFile: UInt64 = 256 << 20

        let bytes: FileBytes
        let format: PictureFormat
        /// The directories of a TIFF file; nil for other files.
        let tiff: TIFFFile?
        private let source: PictureSource
        let header: Image

        /// Reads a file's first bytes and its header; decodes no pixels.
        init(_ file: SharedDescriptor, maximumPixels: Int) throws(JobFailure) {
            let length: UInt64
            (length, format, tiff) = try Self.sniff(file)
            bytes = FileBytes(file: file, length: length)
            source = PictureSource(file, length: length)
            do {
                header = try source.load(format, keeping: 1)
            } catch {
                throw Self.blame(error, on: source)
            }
            let limit =
                max(header.width, header.height) > Self.longestSide
                ? "\(Self.longestSide) for each side" : "\(maximumPixels)"
            guard max(header.width, header.height) <= Self.longestSide, header.width * header.height <= maximumPixels
            else {
                throw .refused(.tooManyPixels, "\(header.width)x\(header.height) pixels; the limit is \(limit)")
            }
        }

        /// Facts known without decoding.
        var facts: PictureFacts {
            let isSwapped = header.orientation >= 5
            return PictureFacts(
                width: isSwapped ? header.height : header.width, height: isSwapped ? header.width : header.height)
        }

        /// Processes the picture once, from top to bottom.
        ///
        /// - Parameters width, height: Pixels that the result needs along the sides of the upright picture. If fewer
        ///   than the picture has, decoders that can produce a smaller picture do so.
        func decoded<Result>(
            coveringWidth width: Int = .max, height: Int = .max,
            _ make: (Image) throws(VipsFailure) -> Result
        ) throws(JobFailure) -> Result {
            let kept = max(
                min(1, Double(width) / Double(facts.width)), min(1, Double(height) / Double(facts.height)))
            let source = PictureSource(bytes.file, length: bytes.length)
            do {
                let image = try source.load(format, keeping: kept)
                let frame = format == .gif ? try? GIFFrame(bytes) : nil
                return try make(try image.inStandardRange(from: colour).clear(around: frame))
            } catch {
                throw Self.blame(error, on: source)
            }
        }

        /// The colours that the container tells in numbers, which libvips does not read.
        private var colour: CodedColour? {
            switch format {
            case .png: PNGContainer.colour(of: bytes)
            case .heif, .avif: (try? HEIFContainer(bytes))?.colour
            case .jpeg, .gif, .webp, .tiff: nil
            }
        }

        private static func sniff(
            _ file: SharedDescriptor
        ) throws(JobFailure) -> (UInt64, PictureFormat, TIFFFile?) {
            var status = stat()
            var head = [UInt8](repeating: 0, count: PictureFormat.headLength)
            do throws(Errno) {
                // The sandbox refuses statx, which could examine other files.
                try retryingOnInterrupt { fstat(file.rawValue, &status) }
                guard status.st_mode & mode_t(S_IFMT) == mode_t(S_IFREG) else { throw .invalidArgument }
                var filled = 0
                var failure: Errno?
                head.withUnsafeMutableBytes { bytes in
                    do throws(Errno) { filled = try file.read(into: bytes, at: 0) } catch { failure = error }
                }
                if let failure { throw failure }
                head.removeSubrange(filled...)
            } catch .invalidArgument {
                throw .refused(.notAPicture, "not a regular file")
            } catch {
                throw .failed("cannot read the picture: \(error)")
            }
            guard let format = PictureFormat(head: head) else {
                throw .refused(.notAPicture, "not a JPEG, PNG, GIF, WebP, HEIF, AVIF or TIFF")
            }
            let tiff = format == .tiff ? TIFFFile(file, head: head) : nil
            if let tiff, tiff.isCameraRaw {
                throw .refused(.notAPicture, "a camera's raw file")
            }
            let length = UInt64(status.st_size)
            if [.gif, .webp].contains(format), length > longestWholeFile {
                throw .refused(.tooManyPixels, "a file of \(length) bytes; the limit is \(longestWholeFile)")
            }
            return (length, format, tiff)
        }

        private static func blame(_ failure: VipsFailure, on source: PictureSource) -> JobFailure {
            if let reason = source.readFailure { return .failed("cannot read the picture: \(reason)") }
            if failure.isOutOfMemory { return .failed(failure.message) }
            return .refused(.damaged, failure.message)
        }
    }
#endif

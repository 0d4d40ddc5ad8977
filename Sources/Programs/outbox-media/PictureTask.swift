#if canImport(CVips)
    import CVips
    import Glibc
    import LinuxSystem
    import PictureJobs
    import SystemPackage

    /// One job with its descriptors.
    struct PictureTask {
        private let job: PictureJob
        private let file: SharedDescriptor
        private let output: SharedDescriptor?

        /// Creates a task.
        ///
        /// - Throws: ``JobFailure`` if the number of descriptors does not fit the job.
        init(_ job: PictureJob, _ descriptors: [SharedDescriptor]) throws(JobFailure) {
            let expected = job.operation == .measure ? 1 : 2
            guard descriptors.count == expected, let file = descriptors.first else {
                throw .failed("the job came with \(descriptors.count) descriptors, but needs \(expected)")
            }
            self.job = job
            self.file = file
            output = descriptors.dropFirst().first
        }

        /// Performs the job.
        ///
        /// - Returns: Facts about the source picture.
        func perform() throws(JobFailure) -> PictureFacts {
            // libvips appends to its error buffer, even for errors it recovered from.
            vips_error_clear()
            switch job.operation {
            case .measure:
                return try picture().facts
            case .thumbnail(let side, let quality):
                guard (1...PictureStep.longestSide).contains(side) else {
                    throw .failed("a thumbnail can't have a side of \(side) pixels")
                }
                return try write { picture throws(JobFailure) in
                    try picture.decoded(coveringWidth: side, height: side) { image throws(VipsFailure) in
                        try image.covering(width: side, height: side).jpeg(quality: quality)
                    }
                }
            case .encode(let quality):
                return try write { picture throws(JobFailure) in
                    try picture.decoded { image throws(VipsFailure) in
                        try image.inSRGB().upright().jpeg(quality: quality)
                    }
                }
            case .compress(let quality, let maximumSide):
                return try write { picture throws(JobFailure) in
                    try picture.compressed(quality: quality, maximumSide: maximumSide)
                }
            case .draw(let texts):
                let steps = try Self.steps(texts)
                return try write { picture throws(JobFailure) in try picture.drawn(by: steps) }
            }
        }

        private func picture() throws(JobFailure) -> Picture {
            try Picture(file, maximumPixels: job.maximumPixels)
        }

        private func write(_ make: (Picture) throws(JobFailure) -> [UInt8]) throws(JobFailure) -> PictureFacts {
            let picture = try picture()
            let bytes = try make(picture)
            guard let output else { throw .failed("the job has no output file") }
            do {
                try writeAll(bytes, to: output.rawValue)
            } catch {
                // Discard a partly written picture.
                ftruncate(output.rawValue, 0)
                throw .failed("cannot write the output: \(error)")
            }
            return picture.facts
        }

        private static func steps(_ texts: [String]) throws(JobFailure) -> [PictureStep] {
            let steps = texts.compactMap(PictureStep.init)
            guard steps.count == texts.count, (1...PictureWire.mostSteps).contains(steps.count) else {
                throw .failed("not a style: \(texts.joined(separator: " ").prefix(200))")
            }
            return steps
        }
    }
#endif

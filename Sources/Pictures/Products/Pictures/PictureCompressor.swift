package import LinuxSystem
package import MediaTools
import PictureJobs
import SystemPackage
import UploadCore

/// Encodes pictures anew as JPEG, in the picture worker.
///
/// Takes JPEG, PNG, HEIC and TIFF; the worker leaves alone what a JPEG can't hold, see `PictureJob.Operation.compress`.
/// The result keeps EXIF, XMP, IPTC and the colour profile. A result that is not a tenth smaller than the picture
/// does not count; nor does one that lacks a tag, if exiftool is there to compare the two.
package struct PictureCompressor: ProductStep {
    /// Maximum pixels: phones take pictures of 200 million pixels.
    private static let mostPixels = 250_000_000
    /// JPEG XL, WebP and AVIF are small already; camera raw files are taken for their latitude.
    private static let types: Set<String> = ["image/jpeg", "image/png", "image/heic", "image/heif", "image/tiff"]

    private let worker: PictureWorker
    private let quality: Int
    private let maximumSide: Int
    private let exiftool: String?

    /// Creates the step of a recipe; see `Recipe.Conversion.jpeg`.
    ///
    /// - Parameter exiftool: Absolute path of exiftool; nil if missing.
    package init(worker: PictureWorker, quality: Int, maximumSide: Int, exiftool: String? = nil) {
        self.exiftool = exiftool
        self.worker = worker
        self.quality = quality
        self.maximumSide = maximumSide
    }

    package var missing: String? { worker.missing.map { "pictures can't be compressed: \($0)" } }

    package func perform(
        on input: ProductInput, into output: SharedDescriptor, scratch: String,
        progress: @escaping @Sendable (Double) -> Void
    ) async throws(ProductFailure) -> StepOutcome {
        guard Self.types.contains(input.type.mime) else { return .unchanged }
        do throws(PictureFailure) {
            _ = try await worker.bulk.perform(
                .compress(quality: quality, maximumSide: maximumSide), on: input.file, into: output,
                maximumPixels: Self.mostPixels)
        } catch {
            if case .refused(let refusal) = error, refusal.reason == .notAPicture { return .unchanged }
            throw ProductFailure(error)
        }
        let size = try output.productSize
        guard size > 0, Double(size) <= 0.9 * Double(input.size) else { return .unchanged }
        if let exiftool { try await compare(input, output, exiftool, scratch) }
        progress(1)
        return .made(MediaType(kind: .image, mime: "image/jpeg"))
    }

    /// Throws ``ProductFailure/refused(_:)`` if the result lacks a tag of the picture.
    private func compare(
        _ input: ProductInput, _ output: SharedDescriptor, _ program: String, _ scratch: String
    ) async throws(ProductFailure) {
        let cancellation = Cancellation()
        let reports = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                startThread(name: "exiftool") {
                    continuation.resume(
                        returning: Result { () throws(ProductFailure) in
                            [
                                try Self.report(of: input.file, program, scratch, cancellation),
                                try Self.report(of: output, program, scratch, cancellation),
                            ]
                        })
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
        switch reports {
        case .success(let reports):
            let keepsThumbnail = input.type.mime == "image/jpeg"
            if let tag = reports[0].lost(in: reports[1], keepsThumbnail: keepsThumbnail) {
                throw .refused("the JPEG would lack \(tag.group):\(tag.name)")
            }
        case .failure(.cancelled): throw .cancelled
        case .failure(.failed(let reason)), .failure(.refused(let reason)):
            throw .refused("exiftool could not compare the JPEG with the picture: \(reason)")
        case .failure(let failure): throw failure
        }
    }

    private static func report(
        of file: SharedDescriptor, _ program: String, _ scratch: String, _ cancellation: Cancellation
    ) throws(ProductFailure) -> TagReport {
        let session = try ExifToolSession(program: program, directory: scratch, file: file)
        defer { session.end() }
        var report = TagReport()
        try session.run(TagReport.arguments(for: ExifToolSession.openFile), within: 30, cancellation) {
            report.add($0)
        }
        return report
    }
}

extension ProductFailure {
    fileprivate init(_ failure: PictureFailure) {
        switch failure {
        case .refused, .killedWorker: self = .refused(failure.message)
        case .unavailable(let reason): self = .missing("pictures can't be compressed: \(reason)")
        // The worker's own limit of memory: another attempt would fail as well.
        case .failed(let reason) where reason.contains("out of memory"): self = .refused(reason)
        case .failed(let reason): self = Self.isAboutSpace(reason) ? .noSpace : .failed(reason)
        case .cancelled: self = .cancelled
        }
    }
}

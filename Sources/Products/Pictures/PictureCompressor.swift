package import LinuxSystem
package import MediaTools
import PictureJobs
import SystemPackage
import UploadCore

/// Encodes pictures anew as JPEG, in the picture worker.
///
/// Takes JPEG, PNG, HEIC and TIFF; the worker leaves alone what a JPEG can't hold, see `PictureJob.Operation.compress`.
/// The result keeps EXIF, XMP, IPTC and the colour profile. A result that is not a tenth smaller than the picture
/// does not count.
package struct PictureCompressor: ProductStep {
    /// Maximum pixels: phones take pictures of 200 million pixels.
    private static let mostPixels = 250_000_000
    /// JPEG XL, WebP and AVIF are small already; camera raw files are taken for their latitude.
    private static let types: Set<String> = ["image/jpeg", "image/png", "image/heic", "image/heif", "image/tiff"]

    private let worker: PictureWorker
    private let quality: Int
    private let maximumSide: Int

    /// Creates the step of a recipe; see `Recipe.Conversion.jpeg`.
    package init(worker: PictureWorker, quality: Int, maximumSide: Int) {
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
        progress(1)
        let size = try output.productSize
        return size > 0 && Double(size) <= 0.9 * Double(input.size)
            ? .made(MediaType(kind: .image, mime: "image/jpeg")) : .unchanged
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

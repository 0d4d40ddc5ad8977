package import LinuxSystem
package import UploadCore

/// One step of a recipe: reads a content and writes what is uploaded in its place.
package protocol ProductStep: Sendable {
    /// A line for display about a missing program, with advice; nil if the step can run.
    var missing: String? { get }

    /// Performs the step.
    ///
    /// - Parameters:
    ///   - input: The content. The step never writes to it.
    ///   - output: An empty file, open for reading and writing. Its bytes count only if the step returns `made`.
    ///   - scratch: Absolute path of an empty directory that only this agent can read, on the file system of `output`.
    ///     The caller removes the directory and its files after the step.
    ///   - progress: Receives the finished part, 0 to 1, a few times a second at most.
    /// - Throws: ``ProductFailure``; `cancelled` soon after the task is cancelled.
    func perform(
        on input: ProductInput, into output: SharedDescriptor, scratch: String,
        progress: @escaping @Sendable (Double) -> Void
    ) async throws(ProductFailure) -> StepOutcome
}

/// The content that a step reads.
package struct ProductInput: Sendable {
    /// The file, open for reading; its offset is not used.
    package var file: SharedDescriptor
    /// The type according to the first bytes.
    package var type: MediaType
    /// The number of bytes.
    package var size: UInt64
    /// Whether an earlier attempt ran into its time limit.
    package var isSlow: Bool

    package init(file: SharedDescriptor, type: MediaType, size: UInt64, isSlow: Bool = false) {
        self.file = file
        self.type = type
        self.size = size
        self.isSlow = isSlow
    }
}

/// The result of a step.
package enum StepOutcome: Equatable, Sendable {
    /// The content needs no change, or would gain nothing from it.
    case unchanged
    /// The output holds a file of this type.
    case made(MediaType)
}

/// Why a step made nothing.
package enum ProductFailure: Error, Equatable, Sendable {
    /// The content is at fault: damaged, hostile, over a limit. A retry gives the same answer.
    case refused(String)
    /// A program is missing.
    case missing(String)
    /// A program ran into its time limit: the machine is busy, or the content is made for that.
    case tookTooLong(String)
    /// The disk is full.
    case noSpace
    /// Not the content's fault; a retry may succeed.
    case failed(String)
    /// The task was cancelled.
    case cancelled
}

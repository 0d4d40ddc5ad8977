/// How far the processing of a file is.
package struct ProcessingProgress: Equatable, Sendable {
    /// The share of the product that is made, 0 to 1.
    package var share = 0.0
    /// Why the last attempt failed. Another one follows.
    package var obstacle: FileError?

    package init(share: Double = 0, obstacle: FileError? = nil) {
        (self.share, self.obstacle) = (share, obstacle)
    }
}

extension FileError {
    /// The disk has no room for a product.
    static let diskIsFull = FileError(
        code: "disk_full", message: "the disk is full, so the file can't be processed before its upload; make room",
        retryable: true)

    /// An attempt to make a product failed, and not because of the file.
    static func processingFailed(_ reason: String) -> FileError {
        FileError(
            code: "processing_failed", message: "the file could not be processed before its upload: \(reason)",
            retryable: true)
    }

    /// The error of a file from which something could not be removed.
    package static func notRemoved(_ removal: Recipe.Removal, _ reason: String) -> FileError {
        let (code, what) =
            removal == .positions ? ("location_not_removed", "positions") : ("metadata_not_removed", "metadata")
        return FileError(
            code: code, message: "its \(what) could not be removed, so the file is not sent: \(reason)",
            retryable: false)
    }
}

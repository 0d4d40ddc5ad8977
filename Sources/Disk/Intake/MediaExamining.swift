package import LinuxSystem
import MediaTools
package import UploadCore

/// Measures pictures and videos and draws their thumbnails.
package protocol MediaExamining: Sendable {
    /// Whether the configuration enables thumbnails.
    var drawsThumbnails: Bool { get }

    /// The executor for tasks that examine files: on it an examination switches threads least. nil: no preference.
    var executor: (any TaskExecutor)? { get }

    /// Measures a file. Quick for pictures.
    ///
    /// - Returns: the facts found; `nil` if a later attempt may find more.
    func measure(_ file: SharedDescriptor, _ type: MediaType) async -> MediaFacts?

    /// Draws the thumbnail of a content, either completely or not at all. Does nothing if the thumbnail exists.
    ///
    /// - Parameter duration: of a video, if known.
    /// - Returns: whether the result is final: the thumbnail exists, or can't be drawn from this content.
    func drawThumbnail(
        of file: SharedDescriptor, _ type: MediaType, key: ContentKey, duration: Double?
    ) async -> Bool

    /// Returns the contents that have a thumbnail.
    func thumbnails() async -> [ContentKey]

    /// Removes the thumbnail of a content that no path holds.
    func dropThumbnail(of key: ContentKey)
}

extension MediaExamining {
    /// No preference.
    package var executor: (any TaskExecutor)? { nil }
}

extension MediaExaminer: MediaExamining {
    package func measure(_ file: SharedDescriptor, _ type: MediaType) async -> MediaFacts? {
        let (facts, isFinal) = await facts(of: file, type)
        return isFinal ? facts : nil
    }

    package func drawThumbnail(
        of file: SharedDescriptor, _ type: MediaType, key: ContentKey, duration: Double?
    ) async -> Bool {
        switch await makeThumbnail(of: file, type, key: key, duration: duration) {
        case .there, .none: true
        case .notNow: false
        }
    }

    package func thumbnails() async -> [ContentKey] { await thumbnailKeys() }

    package func dropThumbnail(of key: ContentKey) {
        Task { await removeThumbnail(of: key) }
    }
}

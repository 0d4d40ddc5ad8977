package import LinuxSystem
import MediaTools
package import UploadCore

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

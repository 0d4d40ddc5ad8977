import LinuxSystem
import MediaTools
import UploadCore

extension MediaExaminer: MediaExamining {
    func measure(_ file: SharedDescriptor, _ type: MediaType) async -> MediaFacts? {
        let (facts, isFinal) = await facts(of: file, type)
        return isFinal ? facts : nil
    }

    func drawThumbnail(
        of file: SharedDescriptor, _ type: MediaType, key: ContentKey, duration: Double?
    ) async -> Bool {
        switch await makeThumbnail(of: file, type, key: key, duration: duration) {
        case .there, .none: true
        case .notNow: false
        }
    }

    func thumbnails() async -> [ContentKey] { await thumbnailKeys() }

    func dropThumbnail(of key: ContentKey) {
        Task { await removeThumbnail(of: key) }
    }
}

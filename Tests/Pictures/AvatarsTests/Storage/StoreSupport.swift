import Avatars
import Glibc
import LinuxSystem
import PictureJobs

extension AvatarStore {
    /// Makes a draft that contains the text.
    func draft(_ text: String) throws -> any AvatarDraft {
        let draft = try makeDraft()
        try writeAll(Array(text.utf8), to: draft.file.rawValue)
        return draft
    }
}

extension StoredPicture {
    /// The whole file as text.
    var text: String {
        var bytes = [UInt8](repeating: 0, count: Int(size) + 1)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

extension AvatarRecord {
    static func sample(_ address: AvatarAddress, tag: String? = nil, fetchedAt: Int64 = 1000) -> AvatarRecord {
        AvatarRecord(
            url: address.url, type: "image/jpeg", entityTag: tag, lastModified: nil, fetchedAt: fetchedAt,
            freshUntil: fetchedAt + 86_400_000)
    }
}

extension PictureStyle {
    static let small = PictureStyle(.rect(width: 96, height: 96))
    static let round = PictureStyle(.round(width: 96, height: 96, radius: 48, border: 2))
}

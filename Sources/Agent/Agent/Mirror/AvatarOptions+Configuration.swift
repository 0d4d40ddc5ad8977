import AgentConfiguration
import Avatars

extension AvatarOptions {
    /// Takes the mirror's options from a configuration.
    init(_ configuration: Configuration) {
        let cache = configuration.avatarCache
        self.init(
            maximumSize: cache.maxSize, maximumAge: cache.maxAge, retryFailedAfter: cache.retryFailedAfter,
            maximumPictureLength: Int(clamping: cache.maxPicture), maximumPixels: cache.maxPixels,
            wantedFile: configuration.avatars + "/wanted.txt", currentPicture: configuration.avatars + "/current.jpg",
            styles: configuration.avatarStyles)
    }
}

import FileWatch
import Intake
import UploadCore

extension WatchEvent {
    /// The event that posts get, and the path it is about; `nil` if it does not concern them.
    var forPosts: (event: PostsEvent, path: RelativePath)? {
        switch self {
        case .seen(let path): (.seen(path), path)
        case .ready(let path, let status): (.ready(path, FileIdentity(status)), path)
        case .odd(let path, _), .unreadable(let path, _): (.odd(path), path)
        case .gone(let path): (.gone(path), path)
        case .renamed(let old, let new, let isDirectory): (.renamed(old, to: new, isDirectory: isDirectory), new)
        default: nil
        }
    }
}

import SystemPackage

extension AvatarStoreError {
    /// Creates an error from a system error, with advice.
    init(_ failure: String, in directory: String, _ error: Errno) {
        self.init("\(failure) in \(directory): \(error); \(Self.advice(on: error, in: directory))")
    }

    private static func advice(on error: Errno, in directory: String) -> String {
        switch error {
        case .noSpace, .diskQuotaExceeded: "free space there, or lower avatar_cache.max_size"
        case .permissionDenied, .notPermitted, .readOnlyFileSystem:
            "let this user write there, or set avatars to another directory"
        case .notDirectory, .fileExists: "remove what stands in the way, or set avatars to another directory"
        case .tooManySymbolicLinkLevels: "remove the symbolic links below it, which are never followed"
        case .fileNameTooLong: "set avatars to a directory with a shorter path"
        case .noSuchFileOrDirectory: "it was removed meanwhile; ask again, and it is made anew"
        case .wouldBlock: "another program has held \(directory)/.lock for long; look for one that is stopped"
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem: "raise the limit of open files (ulimit -n)"
        default: "look after the disk"
        }
    }
}

import SystemPackage

extension AvatarStoreError {
    /// Creates an error from a system error, with advice.
    init(_ failure: String, in directory: String, _ error: Errno) {
        self.init("\(failure) in \(directory): \(error); \(Self.advice(on: error, in: directory))")
    }

    private static func advice(on error: Errno, in directory: String) -> String {
        switch error {
        case .noSpace, .diskQuotaExceeded: "free disk space, or lower avatar_cache.max_size"
        case .permissionDenied, .notPermitted, .readOnlyFileSystem:
            "give this user write access, or set avatars to another directory"
        case .notDirectory, .fileExists: "remove the file that is in the way, or set avatars to another directory"
        case .tooManySymbolicLinkLevels: "remove the symbolic links below it, because the agent follows none"
        case .fileNameTooLong: "set avatars to a directory with a shorter path"
        case .noSuchFileOrDirectory: "it was removed meanwhile; try again, and it is created anew"
        case .wouldBlock: "another program has locked \(directory)/.lock for too long; end it if it is stopped"
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem: "raise the limit of open files (ulimit -n)"
        default: "check the disk"
        }
    }
}

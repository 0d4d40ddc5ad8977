import Glibc

/// The limit on open files and connections of this process.
enum DescriptorLimit {
    /// Enough for the receiver's maximum of connections and their files.
    private static let enough: rlim_t = 16_384

    /// Raises the soft limit, which is 1,024 on most systems, up to the hard limit (man 2 getrlimit). Leaves the
    /// limit unchanged if the call fails.
    ///
    /// - Returns: the limit that holds now.
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < enough else {
            return Int(enough)
        }
        let old = limit.rlim_cur
        limit.rlim_cur = min(limit.rlim_max, enough)
        return Int(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? limit.rlim_cur : old)
    }
}

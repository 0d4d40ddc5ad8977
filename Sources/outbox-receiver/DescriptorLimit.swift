import Glibc

/// How many files and connections this process may have open.
enum DescriptorLimit {
    /// Enough for every connection the receiver takes, and the files they need.
    private static let enough: rlim_t = 16_384

    /// Raises the soft limit, which is 1,024 on most systems, as far as the hard one allows (man 2 getrlimit). Keeps it
    /// where that fails.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < enough else {
            return
        }
        limit.rlim_cur = min(limit.rlim_max, enough)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

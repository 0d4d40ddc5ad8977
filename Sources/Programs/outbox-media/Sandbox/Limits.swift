import CSandbox
import Glibc
import LinuxSystem
import SystemPackage

/// Resource limits of the process for its whole life.
enum Limits {
    /// Memory beyond the mappings at start. A picture of 50 million pixels needs up to 1.5 GB if decoded as a whole
    /// with more than 8 bits per channel, as AVIF is; most need a tenth.
    private static let memory: UInt64 = 2 << 30
    /// Maximum output size. An uncompressed picture of 50 million pixels with alpha takes 200 MB.
    private static let outputLength: UInt64 = 256 << 20
    private static let descriptors: UInt64 = 32

    /// Sets the limits (man 2 getrlimit), and makes the kernel kill this process first when memory runs out.
    static func set() {
        // By default, exceeding the file size limit kills the process. If ignored, only the write fails, and with it
        // the job.
        signal(SIGXFSZ, SIG_IGN)
        // Otherwise each thread would reserve 64 MiB for allocations, and decoders start one thread per processor.
        mallopt(M_ARENA_MAX, 2)
        // Return large buffers to the system as soon as they are freed.
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        set(RLIMIT_AS, to: mappedBytes() + memory)
        set(RLIMIT_FSIZE, to: outputLength)
        set(RLIMIT_NOFILE, to: descriptors)
        set(RLIMIT_CORE, to: 0)
        try? write("1000", to: "/proc/self/oom_score_adj")
    }

    private static func set(_ resource: __rlimit_resource, to value: UInt64) {
        var limit = rlimit()
        // Keep a limit that is already lower.
        getrlimit(__rlimit_resource_t(resource.rawValue), &limit)
        limit.rlim_max = min(limit.rlim_max, rlim_t(value))
        limit.rlim_cur = min(limit.rlim_cur, limit.rlim_max)
        setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    }

    /// Bytes of mapped address space: the first number of /proc/self/statm, in pages (man 5 proc).
    private static func mappedBytes() -> UInt64 {
        guard let file = try? SharedDescriptor(opening: "/proc/self/statm", flags: O_RDONLY) else { return 1 << 30 }
        var text = [UInt8](repeating: 0, count: 128)
        let count = text.withUnsafeMutableBytes { bytes in (try? file.read(into: bytes, at: 0)) ?? 0 }
        let pages = String(decoding: text.prefix(count), as: UTF8.self).split(separator: " ").first.flatMap {
            UInt64($0)
        }
        return (pages ?? 1 << 18) * UInt64(getpagesize())
    }

    private static func write(_ text: String, to path: String) throws(Errno) {
        let file = try SharedDescriptor(opening: path, flags: O_WRONLY)
        try writeAll(Array(text.utf8), to: file.rawValue)
    }
}

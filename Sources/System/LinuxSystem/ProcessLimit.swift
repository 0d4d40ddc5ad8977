import Glibc

/// Returns a resource limit of this process (man 2 getrlimit); nil if unlimited.
public func processLimit(_ resource: ProcessResource) -> UInt64? {
    // RLIM_INFINITY, which Swift does not import: all bits set (sys/resource.h).
    var limit = rlimit()
    guard getrlimit(resource.number, &limit) == 0, limit.rlim_cur != .max else { return nil }
    return UInt64(limit.rlim_cur)
}

/// The resources of ``processLimit(_:)``.
public enum ProcessResource: Sendable {
    /// Bytes of address space (RLIMIT_AS, `ulimit -v`).
    case addressSpace
    /// Open descriptors (RLIMIT_NOFILE, `ulimit -n`).
    case openFiles
    /// Processes and threads of the user (RLIMIT_NPROC, `ulimit -u`).
    case processes
    /// Bytes of a thread's stack (RLIMIT_STACK, `ulimit -s`).
    case stack

    fileprivate var number: __rlimit_resource_t {
        switch self {
        case .addressSpace: __rlimit_resource_t(RLIMIT_AS.rawValue)
        case .openFiles: __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        case .processes: __rlimit_resource_t(__RLIMIT_NPROC.rawValue)
        case .stack: __rlimit_resource_t(RLIMIT_STACK.rawValue)
        }
    }
}

/// Starts idle threads at the same time and ends them again, to learn how many more this process may have.
///
/// - Parameter count: number of threads to try.
/// - Returns: number of threads started.
public func startableThreads(atMost count: Int) -> Int {
    let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(gate, nil)
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer {
        pthread_attr_destroy(&attributes)
        pthread_mutex_destroy(gate)
        gate.deallocate()
    }
    pthread_attr_setstacksize(&attributes, 256 << 10)
    var threads: [pthread_t] = []
    pthread_mutex_lock(gate)
    while threads.count < count {
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, &attributes,
            { gate in
                let gate = gate?.assumingMemoryBound(to: pthread_mutex_t.self)
                if let gate {
                    pthread_mutex_lock(gate)
                    pthread_mutex_unlock(gate)
                }
                return nil
            }, gate)
        if failure != 0 { break }
        threads.append(thread)
    }
    pthread_mutex_unlock(gate)
    for thread in threads { pthread_join(thread, nil) }
    return threads.count
}

/// Whether this much address space can be reserved at this moment, in addition to the space in use.
public func canReserve(bytes: Int) -> Bool {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    guard let place = mmap(nil, bytes, PROT_NONE, flags, -1, 0), place != MAP_FAILED else { return false }
    munmap(place, bytes)
    return true
}

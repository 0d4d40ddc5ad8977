import Glibc
import LinuxSystem
import SystemPackage

/// The system's exiftool. One process, on a thread of its own, serves one picture after the other.
///
/// The process is replaced after a failure, after many pictures, and if it grows. It ends after a minute without work.
final class ExifTool: @unchecked Sendable {
    /// Work with exiftool; runs on its thread. The directory is empty before and after.
    private typealias Job = (ExifTool) -> Void

    private static let mostJobs = 500
    private static let mostMemory = 256 << 20
    private static let idleNanoseconds: UInt64 = 60_000_000_000

    private let program: String
    private let directory: String
    // Unchecked: `jobs` and `isServing` are only touched within `monitor.locked`; `session` and `served` only on the
    // thread.
    private let monitor = Monitor()
    private var jobs: [Job] = []
    private var isServing = false
    private var session: ExifToolSession?
    private var served = 0

    /// - Parameters:
    ///   - program: Absolute path.
    ///   - directory: Absolute path of a directory for pictures at work. Made if missing; all files in it are removed.
    init(program: String, directory: String) {
        self.program = program
        self.directory = directory
    }

    /// Runs blocking work with exiftool. The work may use the directory.
    ///
    /// - Throws: ``ProductFailure`` of the work, or if exiftool can't be started.
    func perform<Value: Sendable>(
        _ cancellation: Cancellation,
        _ work: @escaping @Sendable (ExifToolSession, String) throws(ProductFailure) -> Value
    ) async throws(ProductFailure) -> Value {
        let result = await withCheckedContinuation { continuation in
            submit { tool in continuation.resume(returning: tool.result(of: work, cancellation)) }
        }
        return try result.get()
    }

    private func submit(_ job: @escaping Job) {
        let isFirst = monitor.locked {
            jobs.append(job)
            monitor.signal()
            defer { isServing = true }
            return !isServing
        }
        if isFirst { startThread(name: "exiftool") { self.serve() } }
    }

    private func serve() {
        while let job = nextJob() { job(self) }
    }

    /// Returns nil after a minute without a job; the thread must then end.
    private func nextJob() -> Job? {
        let deadline = monotonicNanoseconds() + Self.idleNanoseconds
        let job = monitor.locked { () -> Job? in
            while jobs.isEmpty { if monitor.wait(until: deadline), jobs.isEmpty { return nil } }
            return jobs.removeFirst()
        }
        if job != nil { return job }
        endSession()
        return monitor.locked {
            // A job may have come while the process ended.
            if !jobs.isEmpty { return jobs.removeFirst() }
            isServing = false
            return nil
        }
    }

    private func result<Value>(
        of work: (ExifToolSession, String) throws(ProductFailure) -> Value, _ cancellation: Cancellation
    ) -> Result<Value, ProductFailure> {
        Result { () throws(ProductFailure) in
            try cancellation.check()
            do throws(ProductFailure) {
                try WorkDirectory.empty(directory)
                let session = try runningSession()
                let value = try work(session, directory)
                try WorkDirectory.empty(directory)
                served += 1
                if served >= Self.mostJobs || session.memory > Self.mostMemory { endSession() }
                return value
            } catch {
                endSession()
                try? WorkDirectory.empty(directory)
                throw error
            }
        }
    }

    private func runningSession() throws(ProductFailure) -> ExifToolSession {
        if let session, !session.hasEnded { return session }
        endSession()
        let new = try ExifToolSession(program: program, directory: directory)
        session = new
        return new
    }

    private func endSession() {
        session?.end()
        session = nil
        served = 0
    }
}

/// A directory for files at work.
enum WorkDirectory {
    /// Makes the directory if it is missing, and removes its files.
    static func empty(_ path: String) throws(ProductFailure) {
        do {
            if let failure = orNil({ () throws(Errno) in try retryingOnInterrupt { mkdir(path, 0o700) } }),
                failure != .fileExists
            {
                throw failure
            }
            let directory = try Directory(path: path)
            for entry in try directory.entries() { try? directory.unlink(entry.name) }
        } catch {
            throw .failed("cannot use \(path): \(error)")
        }
    }

    private static func orNil(_ call: () throws(Errno) -> Int32) -> Errno? {
        do throws(Errno) {
            _ = try call()
            return nil
        } catch {
            return error
        }
    }
}

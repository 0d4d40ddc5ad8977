import Clocks
import MediaTools
import Products
import UploadCore

/// Makes the products that `ProductQueue` decided on, and removes those that nothing needs any more.
///
/// Not `Sendable`, so the compiler confines it to the thread of its owner. Results reach the owner through `report`.
final class ProductRunner {
    /// What the owner must handle.
    enum News: Sendable {
        /// The making of a product made progress, or ended. `took` is the time since the beginning.
        case event(ProductQueue.Event, took: Duration)
        /// The sizes of the products of an earlier run.
        case stored([ContentKey: UInt64])
    }

    private let maker: ProductMaker
    private let clock: any Clocks
    private let report: @Sendable (News) -> Void
    /// What is being made, by job.
    private var tasks: [UInt64: (task: Task<Void, Never>, originalSize: UInt64)] = [:]

    init(_ maker: ProductMaker, clock: any Clocks, report: @escaping @Sendable (News) -> Void) {
        self.maker = maker
        self.clock = clock
        self.report = report
    }

    /// Begins to make a product.
    func make(_ job: ProductQueue.Job) {
        // Opening files may block, so the task runs on the folder's thread.
        let task = Task(executorPreference: maker.folder.thread) { [maker, clock, report] in
            let begin = clock.now.monotonic
            let event = await maker.make(job) { report(.event(.progressed(id: job.id, $0), took: .zero)) }
            if let event { report(.event(event, took: clock.now.monotonic - begin)) }
        }
        tasks[job.id] = (task, job.original.seal.size)
    }

    /// Stops making a product.
    func stop(_ id: UInt64) { tasks.removeValue(forKey: id)?.task.cancel() }

    /// Stops making products.
    func stopAll() {
        for (task, _) in tasks.values { task.cancel() }
        tasks = [:]
    }

    /// Records the end of a job.
    ///
    /// - Returns: the size of the original; nil if the event ends no job.
    func end(_ event: ProductQueue.Event) -> UInt64? {
        event.endedJob.flatMap { tasks.removeValue(forKey: $0)?.originalSize }
    }

    /// Removes a product.
    func remove(_ key: ContentKey) {
        // Ahead of later jobs on this thread: a job must not find the product, and lose it while it reads it.
        Task(executorPreference: maker.folder.thread) { [folder = maker.folder] in folder.unlink(key) }
    }

    /// Reports the products of an earlier run.
    func sweep() {
        // Ahead of the first job on this thread: its products are none of an earlier run.
        Task(executorPreference: maker.folder.thread) { [folder = maker.folder, report] in
            report(.stored(await folder.sweepProducts()))
        }
    }
}

extension ProductQueue.Event {
    /// The job that ends with this event; nil if none does.
    fileprivate var endedJob: UInt64? {
        switch self {
        case .made(let id, _, _, _, _), .refused(let id, _), .changed(let id), .failed(let id, _): id
        case .hashed, .progressed, .released, .found, .tick: nil
        }
    }
}

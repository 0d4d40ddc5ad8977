import Synchronization
import SystemPackage

/// An unfinished upload: its received blocks, and the digests of the contiguous bytes from the start.
///
/// Blocks arrive in any order and in parallel. Each block belongs to the request that asked for it last (its
/// *ticket*). The request that receives the next block in order updates the digests, so a file sent in order is never
/// read back. Blocks that arrived too early are read back later (``Digesting``).
///
/// Every write to the data file happens under the lock. The lock costs nothing, because the kernel also allows one
/// writer per file at a time. A request that lost its ticket, or whose block was already digested, therefore cannot
/// change the file.
final class Upload: Sendable {
    private enum Phase { case open, assembling, finished, gone }

    private struct State {
        var phase = Phase.open
        var arrived: BlockSet
        /// The ticket of the request that receives a block.
        var receiving: [Int: UInt64] = [:]
        var lastTicket: UInt64 = 0
        /// The digests of the first `digested` blocks.
        var digest: RunningDigest
        var digested = 0
        /// The ticket of the request or task that digests block `digested`.
        var digesting: UInt64?
        var hasFailed = false
        /// The object that the file became, once below `objects/`.
        var object: ObjectName?
        /// Whether the object is the upload's own data file, not an earlier one with the same bytes.
        var isNewObject = false
        /// The bytes are not the announced content, or the disk may have lost some.
        var isDistrusted = false
        /// The disk may have lost correct bytes, so the receiver must forget the upload.
        var isLost = false
        /// The batch that finishes the upload.
        var batch: Int?
        /// When the assembly last failed for a temporary reason.
        var assemblyFailedAt: Int64?
        var lastActivity: Int64
    }

    /// The upload's progress, for `isFinish`.
    enum Progress: Equatable { case incomplete, failed, assembling, finished, gone }

    /// The next step for an upload.
    enum NextStep {
        case nothing
        /// The file has blocks that the digests do not cover yet.
        case digest(Digesting)
        /// All blocks are in the file, with these digests. The caller must call ``finish()`` or
        /// ``assemblyFailed(at:)``.
        case assemble(RunningDigest.Result)
        /// The bytes are unreliable and must be forgotten. The caller has the same duty as for `assemble`.
        case reject
    }

    /// The exclusive right to digest a block that is already in the file.
    struct Digesting {
        fileprivate let ticket: UInt64
        let block: Int
        var digest: RunningDigest
    }

    let id: Hex128
    let plan: UploadPlan
    private let state: Mutex<State>

    init(id: Hex128, plan: UploadPlan, at time: Int64) {
        self.id = id
        self.plan = plan
        state = Mutex(
            State(
                arrived: BlockSet(capacity: plan.blockCount), digest: RunningDigest(withSHA256: plan.sha256 != nil),
                lastActivity: time))
    }

    /// Whether writing the bytes to disk takes noticeable time.
    var isLarge: Bool { plan.size > 8 << 20 }

    /// The data file's name below `uploads/`.
    var dataName: String { id.description }

    var lastActivity: Int64 { state.withLock { $0.lastActivity } }

    func touch(at time: Int64) {
        state.withLock { $0.lastActivity = max($0.lastActivity, time) }
    }

    /// Shifts the last activity after the clock jumped by `seconds`, so that ages stay the same.
    func shiftActivity(by seconds: Int64) {
        state.withLock { $0.lastActivity += seconds }
    }

    var arrivedCount: Int { state.withLock { $0.arrived.count } }

    var arrivedBlocks: [Int] {
        state.withLock { state in (0..<plan.blockCount).filter { state.arrived.contains($0) } }
    }

    var arrivedBytes: Int64 { state.withLock { arrivedBytes($0) } }

    private func arrivedBytes(_ state: borrowing State) -> Int64 {
        let last = plan.blockCount - 1
        let full = Int64(state.arrived.count) * UploadPlan.blockSize
        return state.arrived.contains(last) ? full - UploadPlan.blockSize + Int64(plan.length(of: last)) : full
    }

    var progress: Progress {
        state.withLock { state in
            switch state.phase {
            case .finished: .finished
            case .gone: .gone
            case .assembling: .assembling
            case .open where state.hasFailed: .failed
            case .open: state.arrived.count == plan.blockCount ? .assembling : .incomplete
            }
        }
    }

    // MARK: Receiving blocks

    /// The exclusive right to write a block.
    struct Ticket: Sendable {
        fileprivate let number: UInt64
        let block: Int
        /// The digests of all bytes before this block, if this is the next block to digest.
        let digest: RunningDigest?
    }

    /// Assigns block `index` to the caller and revokes the ticket of any earlier request for this block.
    /// - Returns: Nil if the block or the whole upload has already arrived.
    func begin(_ index: Int, at time: Int64) throws(Refusal) -> Ticket? {
        let outcome: Result<Ticket?, Refusal> = state.withLock { state in
            guard state.phase != .gone else { return .failure(.unknownID) }
            guard state.phase == .open, !state.arrived.contains(index) else { return .success(nil) }
            state.lastActivity = max(state.lastActivity, time)
            state.lastTicket += 1
            let ticket = state.lastTicket
            let former = state.receiving.updateValue(ticket, forKey: index)
            guard index == state.digested, state.digesting == nil || state.digesting == former else {
                return .success(Ticket(number: ticket, block: index, digest: nil))
            }
            state.digesting = ticket
            return .success(Ticket(number: ticket, block: index, digest: state.digest))
        }
        return try outcome.get()
    }

    /// Writes bytes of the ticket's block. Throws ``Refusal/superseded`` if a later request took the block.
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, to file: OpenFile, _ ticket: Ticket
    ) throws {
        try state.withLock { state in
            guard state.receiving[ticket.block] == ticket.number else { throw Refusal.superseded }
            try file.write(bytes, at: offset)
        }
    }

    /// Marks the block as complete in the file.
    /// - Parameters:
    ///   - digest: The digests including the block, if the ticket carried digests.
    ///   - record: Makes the arrival durable, before other threads can see it. `isLast` is true for the block that
    ///     completes the digest: the assembly follows at once, so this block needs no journal entry.
    func complete(
        _ ticket: Ticket, digest: RunningDigest?, record: (_ isLast: Bool) throws -> Void
    ) throws {
        try state.withLock { state in
            guard state.receiving[ticket.block] == ticket.number else { throw Refusal.superseded }
            let carriesDigest = state.digesting == ticket.number && digest != nil
            try record(carriesDigest && state.digested + 1 == plan.blockCount)
            state.receiving[ticket.block] = nil
            state.arrived.insert(ticket.block)
            state.hasFailed = false
            guard carriesDigest, let digest else { return }
            state.digest = digest
            state.digested += 1
            state.digesting = nil
        }
    }

    /// Releases the ticket after the request ended without the whole block.
    func abandon(_ ticket: Ticket) {
        state.withLock { state in
            if state.receiving[ticket.block] == ticket.number { state.receiving[ticket.block] = nil }
            if state.digesting == ticket.number { state.digesting = nil }
        }
    }

    /// Restores a received block from the journal at start.
    func restore(_ index: Int) {
        guard index >= 0, index < plan.blockCount else { return }
        state.withLock { $0.arrived.insert(index) }
    }

    // MARK: Assembly

    /// - Parameter time: The current time; a failed assembly is not repeated within the same second.
    func nextStep(at time: Int64) -> NextStep {
        state.withLock { state in
            guard state.phase == .open, state.digesting == nil, state.assemblyFailedAt != time else { return .nothing }
            if state.isDistrusted {
                state.phase = .assembling
                return .reject
            }
            if state.digested == plan.blockCount {
                state.phase = .assembling
                return .assemble(state.digest.finalize())
            }
            guard state.arrived.contains(state.digested) else { return .nothing }
            state.lastTicket += 1
            state.digesting = state.lastTicket
            return .digest(Digesting(ticket: state.lastTicket, block: state.digested, digest: state.digest))
        }
    }

    /// Stores the digest that now includes the block.
    func finished(_ digesting: Digesting) {
        state.withLock { state in
            guard state.digesting == digesting.ticket else { return }
            state.digest = digesting.digest
            state.digested += 1
            state.digesting = nil
        }
    }

    /// Gives up the right after the block could not be read.
    func abandon(_ digesting: Digesting) {
        state.withLock { state in
            if state.digesting == digesting.ticket { state.digesting = nil }
        }
    }

    func finish() {
        state.withLock { $0.phase = .finished }
    }

    /// The object of an assembly that moved the file, even if the assembly failed later.
    var object: ObjectName? { state.withLock { $0.object } }

    /// The batch that currently finishes the upload, if any.
    var batch: Int? { state.withLock { $0.phase == .assembling ? $0.batch : nil } }

    func isFinishing(in batch: Int) {
        state.withLock { $0.batch = batch }
    }

    /// The object made from the data file; nil if that object existed before.
    var newObject: ObjectName? { state.withLock { $0.isNewObject ? $0.object : nil } }

    /// - Parameter isNew: Whether the object is the upload's own data file.
    func moved(to object: ObjectName, isNew: Bool) {
        state.withLock { state in
            state.object = object
            state.isNewObject = isNew
        }
    }

    /// Marks the bytes as unusable: they are not the announced content, or the disk may have lost some of them.
    /// - Returns: Whether the disk may have lost some bytes, now or at an earlier call.
    func distrust(isLost: Bool) -> Bool {
        state.withLock { state in
            state.isDistrusted = true
            state.isLost = state.isLost || isLost
            return state.isLost
        }
    }

    /// Ends the upload; the receiver no longer knows its id.
    func forget() {
        state.withLock { state in
            state.phase = .gone
            forgetBlocks(&state)
        }
    }

    /// Reopens the upload after its assembly failed for a temporary reason.
    func assemblyFailed(at time: Int64) {
        state.withLock { state in
            guard state.phase == .assembling else { return }
            state.phase = .open
            state.assemblyFailedAt = time
        }
    }

    /// Forgets all blocks, because the received bytes are not the announced content.
    /// - Returns: The number of bytes that had arrived.
    func reset() -> Int64 {
        state.withLock { state in
            let bytes = arrivedBytes(state)
            forgetBlocks(&state)
            state.object = nil
            state.isNewObject = false
            state.isDistrusted = false
            state.phase = .open
            state.hasFailed = true
            return bytes
        }
    }

    /// Forgets all blocks at start, as the journal says.
    func restoreReset() {
        state.withLock { forgetBlocks(&$0) }
    }

    private func forgetBlocks(_ state: inout State) {
        state.arrived.removeAll()
        state.receiving = [:]
        state.digest = RunningDigest(withSHA256: plan.sha256 != nil)
        state.digested = 0
        state.digesting = nil
    }

    /// Drops the upload, unless its assembly is running.
    /// - Returns: Whether it was dropped.
    func drop() -> Bool {
        state.withLock { state in
            guard state.phase == .open else { return false }
            state.phase = .gone
            state.receiving = [:]
            state.digesting = nil
            return true
        }
    }
}

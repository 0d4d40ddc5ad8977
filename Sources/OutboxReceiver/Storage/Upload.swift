import Synchronization
import SystemPackage

/// One unfinished upload: which blocks arrived, and the digests of the bytes so far in order.
///
/// Blocks arrive in any order and in parallel; each belongs to the request that asked for it last (its *ticket*). The
/// digests are carried along by the request that receives the next block in order, so that a file sent in order is never
/// read back; blocks that came too early are read back later (``Digesting``).
///
/// Every write to the data file happens under the lock. That costs nothing (the kernel writes one file by one writer
/// at a time too) and makes it certain that a request which lost its ticket, or whose block was already digested,
/// cannot change the file any more.
final class Upload: Sendable {
    private enum Phase { case open, assembling, finished, gone }

    private struct State {
        var phase = Phase.open
        var arrived: BlockSet
        /// The ticket of the request that receives a block.
        var receiving: [Int: UInt64] = [:]
        var lastTicket: UInt64 = 0
        /// Of the first `digested` blocks.
        var digest: RunningDigest
        var digested = 0
        /// The ticket of who is digesting block `digested`.
        var digesting: UInt64?
        var hasFailed = false
        /// Where the file went, once it is below `objects/`.
        var object: ObjectName?
        /// Whether the object is the upload's own data file, not an earlier one with the same bytes.
        var isNewObject = false
        /// The disk may have lost some of the bytes: they must be sent again.
        var isDistrusted = false
        /// The disk may have lost bytes that were right: the upload is to be forgotten.
        var isLost = false
        /// The batch in which it is finished.
        var batch: Int?
        /// When the assembly failed for a reason that may pass.
        var assemblyFailedAt: Int64?
        var lastActivity: Int64
    }

    /// What `isFinish` wants to know.
    enum Progress: Equatable { case incomplete, failed, assembling, finished, gone }

    /// What should be done with an upload now.
    enum NextStep {
        case nothing
        /// Blocks are in the file that the digests do not cover yet.
        case digest(Digesting)
        /// Everything is there and these are its digests. Whoever gets this must call ``finish()`` or ``assemblyFailed(at:)``.
        case assemble(RunningDigest.Result)
        /// The bytes are not to be trusted and could not be forgotten yet. The same holds as for `assemble`.
        case reject
    }

    /// The right to digest blocks that are in the file already.
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

    /// Whether its bytes take the disk a while.
    var isLarge: Bool { plan.size > 8 << 20 }

    /// The data file's name below `uploads/`.
    var dataName: String { id.description }

    var lastActivity: Int64 { state.withLock { $0.lastActivity } }

    func touch(at time: Int64) {
        state.withLock { $0.lastActivity = max($0.lastActivity, time) }
    }

    /// The clock jumped by so many seconds; ages stay what they were.
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

    /// The right to write a block.
    struct Ticket: Sendable {
        fileprivate let number: UInt64
        let block: Int
        /// The digests of everything before this block, if this is the next one.
        let digest: RunningDigest?
    }

    /// Gives block `index` to the caller and takes it from a request that is still at it.
    /// - Returns: Nil when the block, or the whole, has already arrived.
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

    /// Writes bytes of the block the ticket is for.
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, to file: OpenFile, _ ticket: Ticket
    ) throws {
        try state.withLock { state in
            guard state.receiving[ticket.block] == ticket.number else { throw Refusal.superseded }
            try file.write(bytes, at: offset)
        }
    }

    /// The block is in the file whole.
    /// - Parameters:
    ///   - digest: The digests including the block, if the ticket came with some.
    ///   - record: Makes the arrival durable; called before anybody can see it. Told whether that is needed: not for
    ///     the block that completes the digest, since what follows at once is the assembly.
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

    /// The request ended without the whole block.
    func abandon(_ ticket: Ticket) {
        state.withLock { state in
            if state.receiving[ticket.block] == ticket.number { state.receiving[ticket.block] = nil }
            if state.digesting == ticket.number { state.digesting = nil }
        }
    }

    /// At start: the journal says that the block arrived.
    func restore(_ index: Int) {
        guard index >= 0, index < plan.blockCount else { return }
        state.withLock { $0.arrived.insert(index) }
    }

    // MARK: From blocks to a file

    /// - Parameter time: An assembly that failed is not tried again within the same second.
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

    /// Hands in the digest that now includes the block.
    func finished(_ digesting: Digesting) {
        state.withLock { state in
            guard state.digesting == digesting.ticket else { return }
            state.digest = digesting.digest
            state.digested += 1
            state.digesting = nil
        }
    }

    /// The block could not be read.
    func abandon(_ digesting: Digesting) {
        state.withLock { state in
            if state.digesting == digesting.ticket { state.digesting = nil }
        }
    }

    func finish() {
        state.withLock { $0.phase = .finished }
    }

    /// Where the file was moved to by an assembly that failed afterwards.
    var object: ObjectName? { state.withLock { $0.object } }

    /// The batch in which it is being finished, if it is.
    var batch: Int? { state.withLock { $0.phase == .assembling ? $0.batch : nil } }

    func isFinishing(in batch: Int) {
        state.withLock { $0.batch = batch }
    }

    /// The object that the data file became, unless that was there before.
    var newObject: ObjectName? { state.withLock { $0.isNewObject ? $0.object : nil } }

    /// - Parameter isNew: Whether the object is the upload's own data file.
    func moved(to object: ObjectName, isNew: Bool) {
        state.withLock { state in
            state.object = object
            state.isNewObject = isNew
        }
    }

    /// Marks the bytes as unusable: they are not the content that was announced, or the disk may have lost some of them.
    /// - Returns: Whether the disk may have lost some, now or before.
    func distrust(isLost: Bool) -> Bool {
        state.withLock { state in
            state.isDistrusted = true
            state.isLost = state.isLost || isLost
            return state.isLost
        }
    }

    /// Ends the upload: the receiver does not know its id any more.
    func forget() {
        state.withLock { state in
            state.phase = .gone
            forgetBlocks(&state)
        }
    }

    /// The assembly could not be done for a reason that may pass.
    func assemblyFailed(at time: Int64) {
        state.withLock { state in
            guard state.phase == .assembling else { return }
            state.phase = .open
            state.assemblyFailedAt = time
        }
    }

    /// Forgets all blocks: what arrived is not the content promised.
    /// - Returns: How many bytes had arrived.
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

    /// At start: the journal says that the blocks were forgotten.
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

    /// Drops the upload, unless it is being assembled at this moment.
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

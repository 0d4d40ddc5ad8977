import Synchronization
import SystemPackage

/// An unfinished upload: its received blocks, and the digests of the contiguous bytes from the start.
///
/// Blocks arrive in any order and in parallel. Each block belongs to the request that asked for it last (its
/// *ticket*). The digests take the blocks in order (``Digesting``), from memory where possible. An early block stays in
/// memory while requests receive the blocks before it, so a file sent more or less in order is never read back. The
/// digests read all other blocks back: after a restart, behind a block that nobody sends, or if memory is short.
///
/// Blocks arrive faster than one thread computes an MD5. The requests that bring a large file therefore wait for the
/// digests (``waitForDigests()``), or most of the file would be read back.
///
/// Every write to the data file happens under one lock, which costs nothing, because the kernel also allows one writer
/// per file at a time. Under this lock, a request without its ticket writes nothing, and the next owner's bytes come
/// after those of the former owner. So a request that lost its ticket, or whose block was already digested, cannot
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
        /// The ticket of the caller that digests block `digested`.
        var digesting: UInt64?
        /// Arrived blocks that the digests take from memory.
        var held: [Int: BlockBuffer] = [:]
        /// Requests that wait until this many blocks are digested.
        var waiting: [(digested: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var hasFailed = false
        /// The object that the file became, once below `objects/`.
        var object: ObjectName?
        /// Whether the object is the upload's own data file, not an earlier one with the same bytes.
        var isNewObject = false
        /// Objects that have other bytes.
        var others: Set<ObjectName> = []
        /// The bytes are not the announced content, or the disk may have lost some.
        var isDistrusted = false
        /// The disk may have lost correct bytes, so the receiver must forget the upload.
        var isLost = false
        /// The upload's place among those to be confirmed.
        var finishing: Batches<Upload?>.Ticket?
        /// When the assembly last failed for a temporary reason.
        var assemblyFailedAt: Int64?
        var lastActivity: Int64
    }

    /// The upload's progress, for `isFinish`.
    enum Progress: Equatable { case incomplete, failed, assembling, finished, gone }

    /// The next step for an upload.
    enum NextStep {
        case nothing
        /// The caller must digest the block and call ``finished(_:at:)`` or ``abandon(_:)``.
        case digest(Digesting)
        /// All blocks are in the file, with these digests. The caller must call ``finish()`` or
        /// ``assemblyFailed(at:)``.
        case assemble(RunningDigest.Result)
        /// The bytes are unreliable and must be forgotten. The caller has the same duty as for `assemble`.
        case reject
    }

    /// The exclusive right to digest a block that has arrived.
    struct Digesting {
        fileprivate let ticket: UInt64
        let block: Int
        /// The block's bytes; nil if they must be read from the file.
        let bytes: BlockBuffer?
        var digest: RunningDigest
    }

    /// How many blocks one upload may digest before others get their turn on the same thread.
    static let turn = 16
    /// The same while other users have something to digest.
    static let sharedTurn = 2
    /// How many arrived blocks of a large upload the digests may lack before its requests wait. One request brings up to 4.
    static let mostBehind = 8

    let id: Hex128
    let plan: UploadPlan
    /// ``UploadPlan/charge``, counted once: its path may have thousands of parts.
    let charge: Int64
    private let state: Mutex<State>
    /// Locked while a request writes. Separate from `state`, for which the digests would otherwise wait.
    private let writing = Lock()

    init(id: Hex128, plan: UploadPlan, at time: Int64) {
        self.id = id
        self.plan = plan
        charge = plan.charge
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

    /// Corrects the last activity after the clock was set, so that its age stays the same.
    func correctActivity(after jump: ClockWatch.Jump) {
        state.withLock { $0.lastActivity = jump.corrected($0.lastActivity) }
    }

    /// How many blocks from the start the digests include.
    var digestedCount: Int { state.withLock { $0.digested } }

    func hasArrived(_ block: Int) -> Bool { state.withLock { $0.arrived.contains(block) } }

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
            state.receiving[index] = ticket
            return .success(Ticket(number: ticket, block: index))
        }
        return try outcome.get()
    }

    /// Throws unless the ticket is valid: ``Refusal/superseded`` if a later request took the block, ``Refusal/unknownID`` if
    /// the upload is gone.
    private static func check(_ ticket: Ticket, _ state: borrowing State) throws {
        if state.receiving[ticket.block] != ticket.number {
            throw state.phase == .gone ? Refusal.unknownID : Refusal.superseded
        }
    }

    /// Opens the data file. Throws if the ticket is invalid: nobody would remove a file that is created after the upload is
    /// gone.
    func open(_ ticket: Ticket, _ open: () throws(Errno) -> OpenFile) throws -> OpenFile {
        try writing.locked {
            try state.withLock { try Self.check(ticket, $0) }
            return try open()
        }
    }

    /// Removes the data file after ``drop()``, once nobody opens it or writes to it.
    func removeData(from folder: Folder) throws(Errno) {
        try writing.locked { () throws(Errno) in try folder.remove(dataName) }
    }

    /// Writes bytes of the ticket's block. Throws if the ticket is invalid.
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, to file: OpenFile, _ ticket: Ticket
    ) throws {
        try writing.locked {
            try state.withLock { try Self.check(ticket, $0) }
            try file.write(bytes, at: offset)
        }
    }

    /// Marks the block as complete in the file.
    /// - Parameters:
    ///   - bytes: The whole block, if it is in memory.
    ///   - record: Makes the arrival durable, before other threads can see it. `isLast` is true for a block that the
    ///     digests only need to take from memory to be complete: the assembly follows soon, so this block needs no
    ///     journal entry: after a kill, the client sends it again.
    func complete(_ ticket: Ticket, bytes: BlockBuffer?, record: (_ isLast: Bool) throws -> Void) throws {
        try state.withLock { state in
            try Self.check(ticket, state)
            let isNext = state.digested == ticket.block && state.digesting == nil
            try record(isNext && bytes != nil && ticket.block + 1 == plan.blockCount)
            state.receiving[ticket.block] = nil
            state.arrived.insert(ticket.block)
            state.hasFailed = false
            if let bytes, digestsReachSoon(ticket.block, state) { state.held[ticket.block] = bytes }
        }
    }

    /// Whether all blocks between the digests and this block have arrived or are being received. Otherwise the memory
    /// might be taken for days.
    private func digestsReachSoon(_ block: Int, _ state: borrowing State) -> Bool {
        let next = state.digesting == nil ? state.digested : state.digested + 1
        guard block - next <= Self.turn else { return false }
        for index in next..<max(next, block) where !state.arrived.contains(index) && state.receiving[index] == nil {
            return false
        }
        return true
    }

    /// Releases the ticket after the request ended without the whole block.
    func abandon(_ ticket: Ticket) {
        change { state in
            guard state.receiving[ticket.block] == ticket.number else { return }
            state.receiving[ticket.block] = nil
            // Later blocks can no longer wait for this one in memory.
            state.held = state.held.filter { $0.key < ticket.block }
        }
    }

    /// Waits while a thread digests this large upload and is too many blocks behind.
    ///
    /// Requests go on in the order of their arrival, each when the digests have advanced by twice as many blocks as it
    /// brought. So the digests catch up, however many requests come together. Nobody waits until they have caught up,
    /// because after a restart they may have gigabytes to read back.
    ///
    /// - Parameter count: how many blocks of this upload the request brought.
    func waitForDigests(afterBringing count: Int) async {
        guard isLarge else { return }
        await withCheckedContinuation { continuation in
            let mustWait = state.withLock { state in
                let enough = state.arrived.count - Self.mostBehind
                guard state.digesting != nil, state.digested < enough else { return false }
                let mark = max(state.digested, state.waiting.last?.digested ?? 0) + 2 * count
                state.waiting.append((min(mark, enough), continuation))
                return true
            }
            if !mustWait { continuation.resume() }
        }
    }

    /// How many requests wait for the digests.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Changes the state and resumes the requests that need no longer wait. Every change that ends or advances the
    /// digests must go through this function.
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, ready) = state.withLock { state in
            let result = body(&state)
            let digested = state.digesting == nil ? Int.max : state.digested
            let ready = state.waiting.filter { $0.digested <= digested }.map(\.continuation)
            if !ready.isEmpty { state.waiting.removeAll { $0.digested <= digested } }
            return (result, ready)
        }
        for continuation in ready { continuation.resume() }
        return result
    }

    /// Restores a received block from the journal at start.
    func restore(_ index: Int) {
        guard index >= 0, index < plan.blockCount else { return }
        state.withLock { $0.arrived.insert(index) }
    }

    // MARK: Assembly

    /// - Parameter time: The current time; a failed assembly is not repeated within the same second.
    func nextStep(at time: Int64) -> NextStep {
        change { nextStep(&$0, at: time) }
    }

    private func nextStep(_ state: inout State, at time: Int64) -> NextStep {
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
        let bytes = state.held.removeValue(forKey: state.digested)
        return .digest(
            Digesting(ticket: state.lastTicket, block: state.digested, bytes: bytes, digest: state.digest))
    }

    /// Stores the digest that now includes the block.
    func finished(_ digesting: Digesting, at time: Int64) -> NextStep {
        change { state in
            guard state.digesting == digesting.ticket else { return .nothing }
            state.digest = digesting.digest
            state.digested += 1
            state.digesting = nil
            return nextStep(&state, at: time)
        }
    }

    /// Gives up the right after the block could not be read.
    func abandon(_ digesting: Digesting) {
        change { state in
            if state.digesting == digesting.ticket { state.digesting = nil }
        }
    }

    func finish() {
        state.withLock { $0.phase = .finished }
    }

    /// The object of an assembly that moved the file, even if the assembly failed later.
    var object: ObjectName? { state.withLock { $0.object } }

    /// The upload's place among those to be confirmed; nil unless it waits for that.
    var finishing: Batches<Upload?>.Ticket? { state.withLock { $0.phase == .assembling ? $0.finishing : nil } }

    func isFinishing(at ticket: Batches<Upload?>.Ticket) {
        state.withLock { $0.finishing = ticket }
    }

    /// The object made from the data file; nil if that object existed before.
    var newObject: ObjectName? { state.withLock { $0.isNewObject ? $0.object : nil } }

    /// Whether the upload was compared with this object, which has other bytes.
    func differs(from object: ObjectName) -> Bool { state.withLock { $0.others.contains(object) } }

    func differed(from object: ObjectName) {
        state.withLock { _ = $0.others.insert(object) }
    }

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
        change { state in
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
        change { state in
            let bytes = arrivedBytes(state)
            forgetBlocks(&state)
            state.object = nil
            state.isNewObject = false
            state.others = []
            state.isDistrusted = false
            state.phase = .open
            state.hasFailed = true
            return bytes
        }
    }

    /// Forgets all blocks at start, as the journal says.
    func restoreReset() {
        change { forgetBlocks(&$0) }
    }

    private func forgetBlocks(_ state: inout State) {
        state.arrived.removeAll()
        state.receiving = [:]
        state.digest = RunningDigest(withSHA256: plan.sha256 != nil)
        state.digested = 0
        state.digesting = nil
        state.held = [:]
    }

    /// Drops the upload, unless its assembly is running.
    /// - Returns: Whether it was dropped.
    func drop() -> Bool {
        change { state in
            guard state.phase == .open else { return false }
            state.phase = .gone
            state.receiving = [:]
            state.digesting = nil
            state.held = [:]
            return true
        }
    }
}

/// The set of an upload's blocks that are in its data file.
struct BlockSet: Equatable, Sendable {
    private var words: [UInt64]
    private(set) var count = 0

    init(capacity: Int) {
        words = Array(repeating: 0, count: (capacity + 63) / 64)
    }

    func contains(_ index: Int) -> Bool {
        words[index / 64] & (1 << UInt64(index % 64)) != 0
    }

    mutating func insert(_ index: Int) {
        guard !contains(index) else { return }
        words[index / 64] |= 1 << UInt64(index % 64)
        count += 1
    }

    mutating func removeAll() {
        for index in words.indices { words[index] = 0 }
        count = 0
    }
}

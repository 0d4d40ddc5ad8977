import NIOCore
import Synchronization

/// Passes the bytes of a connection to the parser as far as the request in turn may reach.
///
/// The head of a request ends with an empty line, and so does a body in chunks (RFC 9112, 2.1 and 7.1). A gate that stops
/// behind each empty line therefore never passes the first byte of the next request.
final class ByteGate: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = Never

    /// How far the request in turn may reach.
    enum Stretch: Equatable {
        case nothing
        /// To the end of the next empty line.
        case lines
        /// The same, in steps of a few chunks, so that the reader of the chunks can shut the gate in time.
        case chunks
        /// The rest of a body of known length.
        case bytes(Int)
    }

    /// A head is mostly shorter, and what is read behind it waits in memory.
    private static let smallRead = 16 << 10
    private static let largeRead = 256 << 10
    /// How many bytes of a body in chunks are passed at a time.
    private static let chunkStep = 1 << 10
    /// A connection keeps the buffer of its largest read, so only so many of the process read bodies in one go.
    private static let mostLarge = 128
    /// What may wait here. The bytes of one read fit, and little of what arrives at once when a client stops sending.
    private static let mostHeld = largeRead + smallRead
    /// What the parser may take without recognising anything. A head fits.
    private static let mostUnparsed = 128 << 10

    private var context: ChannelHandlerContext?
    private var stretch = Stretch.lines
    private var held = ByteBuffer()
    private var isPassing = false
    /// The turn of the next request, which is here already.
    private var lateTurn: Scheduled<Void>?
    private var isShut = false
    private var isLineEmpty = true
    private var unparsed = 0
    private var readsLarge = false
    /// Whether this connection counts as one that reads bodies in one go.
    private var mayReadLarge = false
    private var wantsRead = false
    private var hasInputClosed = false

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // Several reads in a row would add up while a request waits.
        context.channel.setOption(.maxMessagesPerRead, value: 1).whenComplete { _ in }
        setReadSize(Self.smallRead)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        if mayReadLarge { Self.largeReaders.subtract(1, ordering: .relaxed) }
        mayReadLarge = false
        lateTurn?.cancel()
        lateTurn = nil
    }

    private func setReadSize(_ size: Int) {
        let allocator = FixedSizeRecvByteBufferAllocator(capacity: size)
        context?.channel.setOption(.recvAllocator, value: allocator).whenComplete { _ in }
    }

    // MARK: The parser's side

    /// Lets the request in turn continue, or the next one begin.
    func open(_ stretch: Stretch) {
        self.stretch = stretch
        noteProgress()
        var isLarge = false
        if case .bytes(let count) = stretch { isLarge = count > Self.smallRead && claimLargeReads() }
        if isLarge != readsLarge {
            readsLarge = isLarge
            setReadSize(isLarge ? Self.largeRead : Self.smallRead)
        }
        guard !isPassing, lateTurn == nil, let context, stretch != .nothing else { return }
        guard stretch == .lines, held.readableBytes > 0 else { return resume(context) }
        lateTurn = context.eventLoop.assumeIsolated().scheduleTask(in: Self.delayOfLateTurn()) {
            self.lateTurn = nil
            self.resume(context)
        }
    }

    /// The connections of the process that may read bodies in one go.
    private static let largeReaders = Atomic(0)

    private func claimLargeReads() -> Bool {
        if mayReadLarge { return true }
        mayReadLarge = Self.largeReaders.add(1, ordering: .relaxed).newValue <= Self.mostLarge
        if !mayReadLarge { Self.largeReaders.subtract(1, ordering: .relaxed) }
        return mayReadLarge
    }

    private func resume(_ context: ChannelHandlerContext) {
        if pass(context) { context.fireChannelReadComplete() }
        goOn(context)
    }

    /// When the last of the requests that are here before their turn has its turn, in the whole process.
    private static let lastLateTurn = Mutex(NIODeadline.uptimeNanoseconds(0))

    /// Returns how long such a request waits. An event loop looks after its sockets when no task is ready, so requests in
    /// memory, each ready at once, would hold up all other connections for seconds.
    private static func delayOfLateTurn() -> TimeAmount {
        lastLateTurn.withLock { last in
            let now = NIODeadline.now()
            last = min(max(last, now) + .milliseconds(5), now + .seconds(5))
            return last - now
        }
    }

    /// Notes that the parser recognised a part.
    func noteProgress() {
        unparsed = 0
    }

    /// Drops everything from now on: the client sent bytes that are not HTTP.
    func shut() {
        isShut = true
        held = ByteBuffer()
    }

    // MARK: The socket's side

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isShut else { return }
        var bytes = Self.unwrapInboundIn(data)
        if held.readableBytes == 0 {
            held = bytes
        } else {
            held.discardReadBytes()
            held.writeBuffer(&bytes)
        }
        _ = pass(context)
        // A client that stops sending has everything that is left in its socket read at once.
        if held.readableBytes > Self.mostHeld || unparsed > Self.mostUnparsed { context.close(promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        goOn(context)
    }

    func read(context: ChannelHandlerContext) {
        wantsRead = true
        goOn(context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed, held.readableBytes > 0 else {
            return context.fireUserInboundEventTriggered(event)
        }
        hasInputClosed = true
    }

    /// Reads on, or reports the end of the input, once the requests that are here have had their turn.
    private func goOn(_ context: ChannelHandlerContext) {
        guard held.readableBytes == 0 else { return }
        if hasInputClosed {
            hasInputClosed = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        guard wantsRead, !isShut, stretch != .nothing else { return }
        wantsRead = false
        context.read()
    }

    /// - Returns: Whether any byte was passed.
    private func pass(_ context: ChannelHandlerContext) -> Bool {
        guard lateTurn == nil else { return false }
        isPassing = true
        defer { isPassing = false }
        var hasPassed = false
        while let bytes = next() {
            hasPassed = true
            unparsed += bytes.readableBytes
            context.fireChannelRead(Self.wrapInboundOut(bytes))
        }
        if held.readableBytes == 0 { held = ByteBuffer() }
        return hasPassed
    }

    private func next() -> ByteBuffer? {
        let count: Int
        switch stretch {
        case .nothing: return nil
        case .lines: count = lengthToEmptyLine(within: held.readableBytes)
        case .chunks: count = lengthToEmptyLine(within: min(Self.chunkStep, held.readableBytes))
        case .bytes(let rest):
            count = min(rest, held.readableBytes)
            stretch = .bytes(rest - count)
        }
        return count > 0 ? held.readSlice(length: count) : nil
    }

    private func lengthToEmptyLine(within limit: Int) -> Int {
        let bytes = held.readableBytesView.prefix(limit)
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "\n") {
                if isLineEmpty { return index + 1 }
                isLineEmpty = true
            } else if byte != UInt8(ascii: "\r") {
                isLineEmpty = false
            }
        }
        return bytes.count
    }
}

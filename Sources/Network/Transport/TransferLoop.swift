import CCurl
import LinuxSystem

/// The transport's thread: a loop around curl_multi_poll. Only this thread uses the loop.
final class TransferLoop {
    /// Maximum number of idle easy handles kept for re-use. Each holds its upload buffer, hence the small number.
    private static let idleHandles = 8

    private let inbox: TransferInbox
    private let multi: UnsafeMutableRawPointer
    private var configuration: CurlTransport.Configuration
    private let throttle: Throttle
    private let sockets = SocketRegistry()
    private var waiting: [Submission] = []
    private var active: [UnsafeMutableRawPointer: Transfer] = [:]
    private var idle: [UnsafeMutableRawPointer] = []
    private var nextCheck: UInt64 = 0
    private var isStopping = false

    init(inbox: TransferInbox, configuration: CurlTransport.Configuration) {
        self.inbox = inbox
        self.configuration = configuration
        multi = inbox.multi
        throttle = Throttle(rate: configuration.bandwidthLimit)
        let connections = max(configuration.maximumConnections, 1)
        outbox_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connections)
        outbox_curl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
    }

    func run() {
        var hasNewTransfers = false
        while !isStopping {
            // Sleeps until a socket event, a command or a deadline; without transfers, for weeks.
            if !hasNewTransfers, inbox.mayThreadSleep() {
                curl_multi_poll(multi, nil, 0, pollTimeout(at: bootTimeNanoseconds()), nil)
            }
            obeyCommands()
            startWaiting()
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            finishCompleted()
            let now = bootTimeNanoseconds()
            throttle.deal(at: now)
            checkProgress(at: now)
            // Tasks go on here whose transfers ended.
            obeyCommands()
            hasNewTransfers = startWaiting()
        }
        tearDown()
    }

    // MARK: Commands

    /// Obeys all commands, those included that tasks post while they run.
    private func obeyCommands() {
        while true {
            let commands = inbox.take()
            if commands.isEmpty { return }
            commands.forEach(obey)
        }
    }

    private func obey(_ command: TransferInbox.Command) {
        switch command {
        case .start(let submission):
            // The cancellation overtook its request and will not come again.
            if submission.ticket.isCancelled {
                submission.continuation.resume(returning: .failure(.cancelled))
            } else {
                waiting.append(submission)
            }
        case .cancel(let ticket): cancel(ticket)
        case .run(let job): job.runSynchronously(on: inbox.asUnownedTaskExecutor())
        case .setBandwidthLimit(let rate): throttle.setRate(rate)
        case .setTimeouts(let stall, let reply):
            configuration.stallTimeout = stall
            configuration.replyTimeout = reply
        case .networkChanged(let news): leaveNetwork(news)
        case .stop: isStopping = true
        }
    }

    private func cancel(_ ticket: Ticket) {
        if let index = waiting.firstIndex(where: { $0.ticket === ticket }) {
            waiting.remove(at: index).continuation.resume(returning: .failure(.cancelled))
        } else if let transfer = active.values.first(where: { $0.submission.ticket === ticket }) {
            end(transfer, with: .failure(.cancelled))
        }
    }

    /// Ends or restarts transfers that may hang in the previous network.
    private func leaveNetwork(_ news: NetworkNews) {
        let descriptors = sockets.byLocalEndpoint()
        let now = bootTimeNanoseconds()
        for transfer in Array(active.values) {
            let endpoint = transfer.localEndpoint
            let descriptor = endpoint.flatMap { descriptors[$0] }
            let connection = NetworkNews.Connection(
                localAddress: endpoint?.address,
                isBackingOff: descriptor.map { outbox_is_backing_off($0) != 0 } ?? false,
                silence: transfer.silence(at: now))
            switch news.verdict(on: connection) {
            case .goOn: break
            case .startOver: startOver(transfer)
            case .fail(let reason): end(transfer, with: .failure(.reset(reason)))
            }
        }
        sockets.shutDown(except: Set(active.values.compactMap(\.localEndpoint)))
    }

    // MARK: Life of a transfer

    /// Starts waiting requests. The loop limits the number of transfers itself instead of using
    /// CURLMOPT_MAX_TOTAL_CONNECTIONS, so that the connect timeout does not run while a request waits.
    ///
    /// - Returns: whether a transfer began.
    @discardableResult
    private func startWaiting() -> Bool {
        let room = max(configuration.maximumConnections, 1) - active.count
        let next = waiting.prefix(max(room, 0))
        if next.isEmpty { return false }
        waiting.removeFirst(next.count)
        next.forEach(start)
        return true
    }

    private func start(_ submission: Submission) {
        guard let easy = idle.popLast() ?? curl_easy_init() else {
            return submission.continuation.resume(returning: .failure(.other("libcurl has no memory")))
        }
        let transfer = Transfer(
            submission: submission, easy: easy, throttle: throttle, sockets: sockets,
            timeouts: submission.request.timeouts ?? configuration.timeouts)
        TransferSetup(transfer: transfer, configuration: configuration, sockets: sockets).apply()
        active[easy] = transfer
        let code = curl_multi_add_handle(multi, easy)
        if code != CURLM_OK {
            end(transfer, with: .failure(.other(String(cString: curl_multi_strerror(code)))))
        }
        nextCheck = min(nextCheck, bootTimeNanoseconds() + checkInterval(of: transfer))
    }

    private func finishCompleted() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = active[easy]
            else { continue }
            let code = message.pointee.data.result
            if transfer.mayBeSentAgain(after: code) {
                startOver(transfer)
            } else {
                end(transfer, with: transfer.outcome(of: code))
            }
        }
    }

    /// Sends a request again on a new connection. libcurl itself does so if a re-used connection ends before the
    /// reply, but not if sending fails.
    private func startOver(_ transfer: Transfer) {
        curl_multi_remove_handle(multi, transfer.easy)
        throttle.remove(transfer)
        guard transfer.rewind() else {
            return end(transfer, with: transfer.outcome(of: CURLE_SEND_FAIL_REWIND))
        }
        outbox_curl_set_long(transfer.easy, CURLOPT_FRESH_CONNECT, 1)
        curl_multi_add_handle(multi, transfer.easy)
    }

    private func end(_ transfer: Transfer, with result: Result<HTTPReply, TransportError>) {
        let easy = transfer.easy
        // Also closes the connection of an incomplete transfer (man 3 curl_multi_remove_handle).
        curl_multi_remove_handle(multi, easy)
        throttle.remove(transfer)
        active[easy] = nil
        if idle.count < Self.idleHandles {
            // Removes the pointers to the transfer, which is freed now.
            curl_easy_reset(easy)
            idle.append(easy)
        } else {
            curl_easy_cleanup(easy)
        }
        transfer.submission.continuation.resume(returning: result)
    }

    // MARK: Time

    private func checkProgress(at now: UInt64) {
        guard !active.isEmpty, now >= nextCheck else { return }
        let descriptors = sockets.byLocalEndpoint()
        for transfer in Array(active.values) {
            let descriptor = transfer.localEndpoint.flatMap { descriptors[$0] }
            let unacknowledged = descriptor.map { Int(outbox_unacknowledged_bytes($0)) } ?? 0
            if let failure = transfer.checkProgress(at: now, unacknowledged: unacknowledged) {
                end(transfer, with: .failure(failure))
            }
        }
        nextCheck = now + (active.values.map(checkInterval).min() ?? 0)
    }

    /// Returns an eighth of the shortest timeout, clamped to 10 ms … 1 s.
    private func checkInterval(of transfer: Transfer) -> UInt64 {
        let shortest = min(transfer.timeouts.stall, transfer.timeouts.reply).nanoseconds
        return min(max(shortest / 8, 10_000_000), 1_000_000_000)
    }

    /// Maximum sleep in milliseconds; libcurl shortens it to its own deadlines.
    private func pollTimeout(at now: UInt64) -> Int32 {
        var deadline = throttle.deadline ?? .max
        if !active.isEmpty { deadline = min(deadline, nextCheck) }
        if deadline == .max { return .max }
        return Int32(clamping: (max(deadline, now) - now + 999_999) / 1_000_000)
    }

    // MARK: End

    private func tearDown() {
        for transfer in Array(active.values) { end(transfer, with: .failure(.cancelled)) }
        for command in inbox.close() { obey(command) }
        for submission in waiting { submission.continuation.resume(returning: .failure(.cancelled)) }
        idle.forEach(curl_easy_cleanup)
        curl_multi_cleanup(multi)
    }
}

import CCurl
import Glibc
import Synchronization

/// The interface of the transport's thread for other threads.
final class TransferEngine: Sendable {
    private let inbox: TransferInbox
    private let thread: Mutex<pthread_t?>

    /// Runs tasks on the transport's thread.
    var executor: any TaskExecutor { inbox }

    init(configuration: CurlTransport.Configuration) throws(CurlTransport.StartError) {
        guard CurlLibrary.initialisation == CURLE_OK, let multi = curl_multi_init() else {
            throw CurlTransport.StartError(description: "libcurl cannot be started")
        }
        let inbox = TransferInbox(multi: multi)
        let context = Unmanaged.passRetained(ThreadContext(inbox: inbox, configuration: configuration))
        var thread = pthread_t()
        let failure = Self.withAllSignalsBlocked {
            pthread_create(&thread, nil, { ThreadContext.run($0) }, context.toOpaque())
        }
        guard failure == 0 else {
            context.release()
            curl_multi_cleanup(multi)
            throw CurlTransport.StartError(
                description: "the transport's thread cannot be started: \(String(cString: strerror(failure)))")
        }
        self.inbox = inbox
        self.thread = Mutex(thread)
    }

    func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply {
        let url = try RequestCheck.validate(request)
        let ticket = Ticket()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let submission = Submission(request: request, url: url, ticket: ticket, continuation: continuation)
                if !inbox.post(.start(submission)) { continuation.resume(returning: .failure(.cancelled)) }
            }
        } onCancel: {
            ticket.cancel()
            _ = inbox.post(.cancel(ticket))
        }
        return try result.get()
    }

    func setBandwidthLimit(_ bytesPerSecond: UInt64) {
        _ = inbox.post(.setBandwidthLimit(bytesPerSecond))
    }

    func setTimeouts(stall: Duration, reply: Duration) {
        _ = inbox.post(.setTimeouts(stall: stall, reply: reply))
    }

    func networkChanged(_ news: NetworkNews) {
        _ = inbox.post(.networkChanged(news))
    }

    func shutdown() {
        thread.withLock { thread in
            guard let running = thread else { return }
            thread = nil
            _ = inbox.post(.stop)
            // The thread itself may release the last reference, together with a request's body.
            if pthread_equal(running, pthread_self()) != 0 {
                pthread_detach(running)
            } else {
                pthread_join(running, nil)
            }
        }
    }

    /// Blocks all signals while starting the thread. A thread inherits its creator's mask, and so do libcurl's
    /// threads for name look-ups. None of these threads should handle the program's signals, and SIGPIPE, which
    /// OpenSSL's writes raise, must not end the program.
    private static func withAllSignalsBlocked<Value>(_ body: () -> Value) -> Value {
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        return body()
    }
}

/// The thread's arguments.
private final class ThreadContext: Sendable {
    private let inbox: TransferInbox
    private let configuration: CurlTransport.Configuration

    init(inbox: TransferInbox, configuration: CurlTransport.Configuration) {
        self.inbox = inbox
        self.configuration = configuration
    }

    static func run(_ raw: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let raw else { return nil }
        let context = Unmanaged<ThreadContext>.fromOpaque(raw).takeRetainedValue()
        outbox_curl_name_thread("transport")
        TransferLoop(inbox: context.inbox, configuration: context.configuration).run()
        return nil
    }
}

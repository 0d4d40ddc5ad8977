import Hummingbird
import NIOCore

/// Information about a request beyond the request itself.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The port that the client connected to; 0 on a Unix socket.
    var localPort: Int { channel.localAddress?.port ?? 0 }

    func keepConnection(at seats: ConnectionSeats) { seats.trust(channel) }

    /// Runs work that only the client benefits from. The task is cancelled when the client closes the connection.
    ///
    /// A client that only stopped sending (shutdown(2) with `SHUT_WR`) is still present. Further data, such as
    /// another request, stays unread meanwhile.
    func whileClientStays<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let task = Task { () async -> Result<Value, Failure> in
            do throws(Failure) {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        let result = await withTaskCancellationHandler {
            // The pipeline of a closed connection is empty.
            guard let presence = try? await channel.pipeline.handler(type: ClientPresence.self).get() else {
                task.cancel()
                return await task.value
            }
            let number = presence.whenGone { task.cancel() }
            defer { presence.forget(number) }
            return await task.value
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }
}

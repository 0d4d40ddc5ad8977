import Hummingbird
import Logging
import NIOCore

/// What the control interface knows about a request besides the request itself.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// Does something that is of use to the client alone: its task is cancelled once the client closed the connection.
    ///
    /// A client that only said that it sends nothing more (shutdown(2) with `SHUT_WR`) is still there. What it sends
    /// meanwhile, another request for instance, is left where it is.
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
            // The pipeline of a connection that is closed already is empty.
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

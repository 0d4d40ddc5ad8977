import ServiceLifecycle

/// The last service of the group, and so the first that is told of the end.
extension ServiceNotifier: Service {
    func run() async throws {
        try? await gracefulShutdown()
        await stopping()
    }
}

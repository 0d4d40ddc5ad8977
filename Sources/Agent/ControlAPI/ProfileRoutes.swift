import Hummingbird

/// Provides the state of the user's picture.
package protocol ProfileBackend: Sendable {
    /// Returns the current state as one line of JSON (docs/http.md).
    func profileText() async -> [UInt8]
}

/// The route of the user's profile (docs/http.md).
struct ProfileRoutes: Sendable {
    private let backend: any ProfileBackend

    init(backend: any ProfileBackend) {
        self.backend = backend
    }

    /// Adds the route to a router.
    func add(to router: Router<ControlContext>) {
        let table = RouteTable(router)
        table.add(.get, "/v1/profile") { [backend] _, _ in ControlReply.json(await backend.profileText()) }
        table.close()
    }
}

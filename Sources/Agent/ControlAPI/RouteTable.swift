import HTTPTypes
import Hummingbird

/// Adds routes to a router. Other methods of the same addresses get 405 with the allowed methods (RFC 9110, 15.5.6).
final class RouteTable {
    typealias Handler = @Sendable (Request, ControlContext) async throws -> Response

    private static let methods: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete]

    private let router: Router<ControlContext>
    private var added: [(address: String, methods: [HTTPRequest.Method])] = []

    init(_ router: Router<ControlContext>) {
        self.router = router
    }

    /// Adds a route.
    func add(_ method: HTTPRequest.Method, _ address: String, _ handler: @escaping Handler) {
        router.on(RouterPath(address), method: method, use: handler)
        if let index = added.firstIndex(where: { $0.address == address }) {
            added[index].methods.append(method)
        } else {
            added.append((address, [method]))
        }
    }

    /// Adds the 405 answers for all routes so far.
    func close() {
        for (address, methods) in added {
            let allowed = methods.map(\.rawValue).joined(separator: ", ")
            for method in Self.methods where !methods.contains(method) {
                router.on(RouterPath(address), method: method) { request, _ in
                    ControlReply.error(
                        .methodNotAllowed, "method_not_allowed",
                        "\(request.uri.path) does not accept \(method.rawValue), only \(allowed)",
                        headers: [.allow: allowed])
                }
            }
        }
        added = []
    }
}

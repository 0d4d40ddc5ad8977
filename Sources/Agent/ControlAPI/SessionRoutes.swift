import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Session

/// The route of the session. Available on the socket only, never on the dashboard.
struct SessionRoutes: Sendable {
    private let backend: any ControlBackend

    private struct SignIn: Decodable {
        var token: String
        var user: String?
    }

    init(backend: any ControlBackend) {
        self.backend = backend
    }

    /// Adds the route to a router.
    func add(to router: Router<ControlContext>) {
        let table = RouteTable(router)
        table.add(.post, "/v1/session") { [backend] request, _ in
            let body = Data(
                try await request.body.collect(upTo: ControlErrors.largestBody).readableBytesView)
            guard let wish = try? JSONDecoder().decode(SignIn.self, from: body) else {
                throw ControlRefusal(.badRequest, "malformed", "the body must be {\"token\":\"…\",\"user\":\"…\"}")
            }
            do throws(SessionError) {
                let beginsAnew = try await backend.signIn(token: wish.token, user: wish.user)
                return ControlReply.json(Array("{\"begins_anew\":\(beginsAnew)}".utf8))
            } catch {
                throw Self.refusal(error)
            }
        }
        table.add(.delete, "/v1/session") { [backend] _, _ in
            do throws(SessionError) {
                try await backend.signOut()
            } catch {
                throw Self.refusal(error)
            }
            return ControlReply.json(Array("{}".utf8))
        }
        table.close()
    }

    private static func refusal(_ error: SessionError) -> ControlRefusal {
        switch error {
        case .notAToken: ControlRefusal(.badRequest, "not_a_token", "\(error)")
        case .notAUser: ControlRefusal(.badRequest, "not_a_user", "\(error)")
        case .mayNotTravel, .keysOnly: ControlRefusal(.badRequest, "token_not_allowed", "\(error)")
        case .inputOutput: ControlRefusal(.internalServerError, "input_output", "\(error)")
        }
    }
}

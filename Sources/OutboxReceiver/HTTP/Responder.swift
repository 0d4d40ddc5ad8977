import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import SystemPackage

/// Takes each request to what answers it, and errors to their replies.
struct Responder: HTTPResponder {
    typealias Context = ConnectionContext

    let store: Store
    let tokens: Tokens
    let links: Links

    func respond(to request: Request, context: Context) async throws -> Response {
        let deadline = RequestDeadline(for: request, on: context.channel)
        defer { deadline.cancel() }
        do {
            let response = try await answer(request)
            context.logger.debug(
                "request", metadata: ["path": "\(request.uri.path)", "status": "\(response.status.code)"])
            return response
        } catch let refusal as Refusal {
            context.logger.log(
                level: refusal.isRoutine ? .debug : .info, "refused",
                metadata: [
                    "path": "\(request.uri.path)", "status": "\(refusal.status.code)", "why": "\(refusal.message)",
                    "from": "\(context.channel.remoteAddress?.ipAddress ?? "?")",
                ])
            return .refusal(refusal)
        } catch let error as Errno {
            context.logger.error("input/output", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
            return .refusal(error == .noSpace || error == .diskQuotaExceeded ? .diskFull : .storageFailed)
        }
    }

    private func answer(_ request: Request) async throws -> Response {
        let path = request.uri.path
        switch request.method {
        case .post: return try await post(path, request)
        case .get: return try get(path, request)
        case .head: return try get(path, request).createHeadResponse()
        default: throw Refusal.notFound
        }
    }

    private func post(_ path: String, _ request: Request) async throws -> Response {
        let fileSection = FileSectionRoutes(store: store, links: links)
        switch path {
        case "/fileSection/upload.do": return try await fileSection.upload(request, user: try user(of: request))
        case "/fileSection/preLoad.do": return try await fileSection.preLoad(request, user: try user(of: request))
        case "/fileSection/isFinish.do": return try await fileSection.isFinish(request, user: try user(of: request))
        case "/fileSection/delete.do": return try await fileSection.delete(request, user: try user(of: request))
        case "/source/commit.do":
            return try await SourceRoutes(store: store, links: links).commit(request, user: try user(of: request))
        case "/user/portrait.do":
            return try await PortraitRoutes(store: store, links: links).replace(request, user: try user(of: request))
        default: throw Refusal.notFound
        }
    }

    private func get(_ path: String, _ request: Request) throws -> Response {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        switch parts.first {
        case "health" where parts.count == 1: return .json()
        case "f" where parts.count == 2 || parts.count == 3:
            return try Download(store: store).content(parts[1], request)
        case "u" where parts.count == 2:
            return try PortraitRoutes(store: store, links: links).picture(parts[1], request)
        case "s" where parts.count == 2: return try SourceRoutes(store: store, links: links).page(parts[1])
        default: throw Refusal.notFound
        }
    }

    private func user(of request: Request) throws(Refusal) -> String {
        try tokens.user(authorization: request.headers[.authorization], now: store.now())
    }
}

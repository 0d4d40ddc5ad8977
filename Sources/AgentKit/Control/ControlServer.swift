import FoundationEssentials
import Glibc
import HTTPTypes
import Hummingbird
import LinuxSystem
import Logging
import NIOCore
import ServiceLifecycle
import UploadCore

/// The control interface: HTTP on a Unix socket that only its owner may use (docs/architecture.md).
struct ControlServer: Service {
    private let socket: String
    private let backend: any ControlBackend
    private let logger: Logger
    private let onRunning: @Sendable () -> Void

    /// Paths written to a reply at a time: a list of a hundred thousand never stands in memory as one text.
    private static let chunk = 256

    /// A server.
    ///
    /// - Parameters:
    ///   - socket: path of the socket, at most 107 bytes; what a killed agent left there is replaced.
    ///   - backend: asked for everything.
    ///   - onRunning: told once it answers, and when it never will.
    init(
        socket: String, backend: any ControlBackend, logger: Logger, onRunning: @escaping @Sendable () -> Void = {}
    ) {
        self.onRunning = onRunning
        self.socket = socket
        self.backend = backend
        self.logger = logger
    }

    /// Serves until the service group shuts down.
    func run() async throws {
        defer { onRunning() }
        try makeDirectory()
        var quiet = logger
        quiet.logLevel = max(quiet.logLevel, .warning)
        let application = Application(
            router: router(),
            configuration: .init(address: .unixDomainSocket(path: socket)),
            onServerRunning: { [socket, logger, onRunning] _ in
                // The directory is closed to others already; this makes the socket say so itself.
                if chmod(socket, 0o600) != 0 { logger.warning("the control socket's mode can't be set") }
                onRunning()
            },
            logger: quiet)
        defer { unlink(socket) }
        do {
            try await application.run()
        } catch let error as IOError {
            let remedy = "set control.socket to a path in a directory of your own"
            throw AgentFailure.cannotCreate(path: socket, reason: "\(error); \(remedy)")
        }
    }

    /// Makes the socket's directory where it is missing, and trusts only one of this user's.
    private func makeDirectory() throws(AgentFailure) {
        let directory = String(socket[..<(socket.lastIndex(of: "/") ?? socket.startIndex)])
        if mkdir(directory, 0o700) == 0 { return }
        guard let status = try? FileStatus(path: directory), status.kind == .directory, status.owner == geteuid() else {
            throw .cannotCreate(path: socket, reason: "its directory is missing or belongs to another user")
        }
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: NotFound())
        router.get("/v1/health") { [backend] _, _ in
            Self.json(Array(try JSONEncoder().encode(await backend.health())))
        }
        router.get("/v1/files") { [backend] request, _ in
            switch Self.states(in: request) {
            case .success(let states): Self.list(await backend.files(in: states))
            case .failure(let unknown): Self.error(.badRequest, "unknown_state", unknown.message)
            }
        }
        router.get("/v1/files/:id") { [backend] _, context in
            let id = try context.parameters.require("id")
            guard let file = await backend.file(id: id) else {
                return Self.error(.notFound, "no_such_file", "no file has the id \(id)")
            }
            return Self.json(file.controlText())
        }
        return router
    }

    private struct UnknownState: Error {
        var message: String
    }

    private static func states(in request: Request) -> Result<Set<FileState>?, UnknownState> {
        guard let list = request.uri.queryParameters.get("state"), !list.isEmpty else { return .success(nil) }
        var states: Set<FileState> = []
        for name in list.split(separator: ",") {
            guard let state = FileState(rawValue: String(name)) else {
                let known = FileState.allCases.map(\.rawValue).joined(separator: ", ")
                return .failure(UnknownState(message: "no state is called \(name); there are \(known)"))
            }
            states.insert(state)
        }
        return .success(states)
    }

    private static func list(_ files: [FileReport]) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                try await writer.write(ByteBuffer(string: "{\"files\":["))
                for start in stride(from: 0, to: files.count, by: chunk) {
                    var text = ByteBuffer()
                    for index in start..<min(files.count, start + chunk) {
                        text.writeString(index == 0 ? "\n" : ",\n")
                        text.writeBytes(files[index].controlText())
                    }
                    try await writer.write(text)
                }
                try await writer.write(ByteBuffer(string: "\n]}\n"))
                try await writer.finish(nil)
            })
    }

    private static func json(_ text: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text + [UInt8(ascii: "\n")])))
    }

    fileprivate static func error(_ status: HTTPResponse.Status, _ code: String, _ message: String) -> Response {
        var text = JSONText(layout: .line)
        text.object { text in
            text.nested("error") { text in
                text.member("code", code)
                text.member("message", message)
            }
        }
        return json(text.bytes, status: status)
    }
}

/// Answers unknown addresses and failures in the interface's own form.
private struct NotFound: RouterMiddleware {
    func handle(
        _ request: Request, context: BasicRequestContext,
        next: (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError {
            let code = error.status == .notFound ? "not_found" : "bad_request"
            return ControlServer.error(error.status, code, "\(request.uri.path): \(error.status.reasonPhrase)")
        }
    }
}

import Text
import HTTPTypes
import Hummingbird
import NIOCore
package import UploadCore

/// Takes files that a client sends, and puts them into the outbox.
package protocol DropBackend: Sendable {
    /// Begins a file.
    ///
    /// - Parameters:
    ///   - name: the path in the outbox, as the client wrote it.
    ///   - size: the number of bytes to come.
    /// - Throws: `FileError` with a code of docs/http.md, "Dropping files".
    func begin(_ name: String, size: UInt64) async throws(FileError) -> any IncomingDrop
}

/// A file under way. The client's next call follows the end of the last one.
package protocol IncomingDrop: Sendable {
    /// Appends bytes.
    func write(_ bytes: [UInt8]) async throws(FileError)

    /// Gives the complete file its name. Durable on return.
    ///
    /// - Returns: the path, which may have a number if the wanted one was taken.
    func finish() async throws(FileError) -> (path: RelativePath, id: String)

    /// Removes an incomplete file.
    func discard() async
}

/// The route that puts files into the outbox (docs/http.md).
struct DropRoutes: Sendable {
    static let address = "/v1/drop"

    let backend: any DropBackend

    /// Adds the route to a router.
    func add(to router: Router<ControlContext>) {
        let table = RouteTable(router)
        table.add(.post, Self.address) { request, _ in
            do {
                return try await take(request)
            } catch let error as FileError {
                return ControlReply.error(Self.status(of: error), error.code, error.message)
            }
        }
        table.close()
    }

    private func take(_ request: Request) async throws -> Response {
        guard let size = request.headers[.contentLength].flatMap(UInt64.init) else {
            throw ControlRefusal(.lengthRequired, "length_required", "a drop needs a Content-Length")
        }
        let drop = try await backend.begin(request.uri.queryParameters.get("name") ?? "", size: size)
        do {
            var received: UInt64 = 0
            for try await buffer in request.body {
                received += UInt64(buffer.readableBytes)
                try await drop.write(Array(buffer.readableBytesView))
            }
            guard received == size else {
                throw ControlRefusal(.badRequest, "incomplete", "\(received) bytes came, not \(size)")
            }
            let (path, id) = try await drop.finish()
            var text = JSONText(layout: .line)
            text.object { text in
                text.member("path", path.description)
                text.member("id", id)
            }
            return ControlReply.json(text.bytes, status: .created)
        } catch {
            await drop.discard()
            throw error
        }
    }

    private static func status(of error: FileError) -> HTTPResponse.Status {
        switch error.code {
        case "malformed_path", "ignored_name": .badRequest
        case "too_large": .contentTooLarge
        case "unsupported_type": .unsupportedMediaType
        case "empty": .unprocessableContent
        case "busy": .serviceUnavailable
        case "disk_full": HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
        default: .internalServerError
        }
    }
}

import DashboardPage
import Digests
import HTTPTypes
import Hummingbird
import NIOCore
import UploadCore

/// The dashboard's page and its files, which are part of the program.
struct PageRoutes: Sendable {
    /// Adds the routes to a router.
    func add(to router: Router<ControlContext>) {
        let table = RouteTable(router)
        for file in Self.files {
            table.add(.get, file.path) { request, _ in
                ControlReply.bytes(file.bytes, type: file.type, tag: file.tag, caching: "no-cache", to: request)
            }
        }
        table.close()
    }

    private struct File {
        var path: String
        var type: String
        var bytes: ByteBuffer
        var tag: String
    }

    private static var files: [File] {
        (0...).lazy.map { outbox_page_file_at($0) }.prefix { $0 != nil }.compactMap { $0?.pointee }.map { file in
            let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.size))
            return File(
                path: String(cString: file.path), type: String(cString: file.type), bytes: ByteBuffer(bytes: bytes),
                tag: MD5Hasher.hash(bytes).hexadecimal)
        }
    }
}

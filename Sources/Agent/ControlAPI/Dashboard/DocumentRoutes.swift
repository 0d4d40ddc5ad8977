import DashboardPage
import Digests
import Glibc
import HTTPTypes
import Hummingbird
import LinuxSystem
import NIOCore
import UploadCore

/// The pages of docs/ as text, for links of the dashboard: those installed with the program, or those of its sources.
struct DocumentRoutes: Sendable {
    /// Relative to the directory of the program, which is `bin` or `.build/PLATFORM/release`.
    private static let places = ["../share/doc/outbox", "../../../docs"]
    private static let longest = 1 << 20

    /// Adds the route to a router.
    func add(to router: Router<ControlContext>) {
        let table = RouteTable(router)
        table.add(.get, "/docs/:name") { _, context in
            let name = try context.parameters.require("name")
            guard Self.isName(name),
                let bytes = await TimeLimit.run("documents", .seconds(10), { Self.read(name) }) ?? nil
            else {
                throw ControlRefusal(
                    .notFound, "no_document", "the page \(name) is not installed here; `man outbox` may be")
            }
            return Response(
                status: .ok, headers: [.contentType: "text/plain; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        }
        table.close()
    }

    /// Whether this may be the name of a page, and cannot lead to a file elsewhere.
    private static func isName(_ name: String) -> Bool {
        name.hasSuffix(".md") && name.dropLast(3).allSatisfy { ("a"..."z").contains($0) || $0 == "-" }
    }

    private static func read(_ name: String) -> [UInt8]? {
        let program = String(decoding: runningProgram() ?? [], as: UTF8.self)
        guard let slash = program.lastIndex(of: "/") else { return nil }
        for place in places {
            let path = "\(program[...slash])\(place)/\(name)"
            guard let file = try? SharedDescriptor(opening: path, flags: O_RDONLY) else { continue }
            if let bytes = try? readAll(from: file.rawValue, atMost: longest) { return bytes }
        }
        return nil
    }
}

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

import Glibc
import HTTPTypes
import Hummingbird
import LinuxSystem
import NIOCore

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

import Glibc
import LinuxSystem

/// A file and a server that no tool must touch, and scripts that name both.
struct Trap {
    /// A concat script and a playlist, each for the file and for the server, and a session description.
    let scripts: [String]
    /// Absolute path of the file.
    let secret: String
    private let watch: SharedDescriptor
    private let server: SharedDescriptor

    init(_ samples: SampleVideos) async throws {
        let secret = try await samples.make("secret.ts", "-c:v mpeg2video")
        watch = SharedDescriptor(Descriptor(owning: try retryingOnInterrupt { inotify_init1(Int32(O_NONBLOCK)) }))
        let kinds = UInt32(IN_OPEN | IN_ACCESS)
        let descriptor = watch.rawValue
        try retryingOnInterrupt { inotify_add_watch(descriptor, secret, kinds) }
        self.secret = secret
        let port: UInt16
        (server, port) = try Self.listen()
        let list = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1.0,\n"
        scripts = [
            "ffconcat version 1.0\nfile \(secret)\n",
            list + "file://\(secret)\n#EXT-X-ENDLIST\n",
            list + "http://127.0.0.1:\(port)/a.ts\n#EXT-X-ENDLIST\n",
            "ffconcat version 1.0\nfile http://127.0.0.1:\(port)/a.ts\n",
            "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video \(port) RTP/AVP 96\n",
        ]
    }

    /// Whether any process opened the file or connected to the server.
    var isSprung: Bool {
        var events = [UInt8](repeating: 0, count: 4096)
        if read(watch.rawValue, &events, events.count) > 0 { return true }
        let caller = accept(server.rawValue, nil, nil)
        if caller >= 0 { close(caller) }
        return caller >= 0
    }

    private static func listen() throws -> (SharedDescriptor, UInt16) {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let server = SharedDescriptor(Descriptor(owning: try retryingOnInterrupt { socket(AF_INET, kind, 0) }))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { address in
            try address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try retryingOnInterrupt { bind(server.rawValue, address, length) }
                try retryingOnInterrupt { Glibc.listen(server.rawValue, 8) }
                try retryingOnInterrupt { getsockname(server.rawValue, address, &length) }
            }
        }
        return (server, UInt16(bigEndian: address.sin_port))
    }
}

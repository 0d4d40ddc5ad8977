import ArgumentParser

/// Measures uploads over a slow and long link against curl (P9): one large file, and many small ones.
struct LongLinkUpload {
    let shape: LinkShape
    let size: ByteCount
    let count: Int
    let pairs: Int
    var server = Installation.Server.receiver

    /// The agent must reach these shares of curl's speed.
    private static let shareOfLarge = 0.9
    private static let shareOfSmall = 0.7

    func run(_ workplace: Workplace) throws -> [Finding] {
        try workplace.require(freeBytes: Self.space(size, count))
        let link = try LongLink(shape)
        return [
            try finding(1, of: size, bar: 1 / Self.shareOfLarge, over: link, workplace),
            try finding(count, of: ByteCount(64 << 10), bar: 1 / Self.shareOfSmall, over: link, workplace),
        ]
    }

    /// Returns the disk space for the files, the server's copies, and a reserve.
    static func space(_ size: ByteCount, _ count: Int) -> Int64 { 3 * max(size.bytes, Int64(count) << 16) + (1 << 30) }

    private func finding(
        _ count: Int, of size: ByteCount, bar: Double, over link: LongLink, _ workplace: Workplace
    ) throws -> Finding {
        let files = count == 1 ? "one file" : "\(count) files"
        let what = "\(files) of \(size)\(server.suffix) over \(shape.text)"
        note("\(what): outbox, and curl with as many bytes in one request")
        let series = try workplace.withTestFiles { directory in
            let files = try TestFiles.make(count, of: size.bytes, in: directory)
            return try Series(
                [
                    OutboxContender(programs: workplace.programs, link: link, server: server),
                    try LinkCurlContender(workplace.programs, link),
                ], files: files, pairs: pairs, workplace: workplace)
        }
        let bits = Double(size.bytes) * Double(count) * 8
        return .ratio("P9", of: \.wall, in: series, bar: bar, what: what) {
            "\(Text.seconds($0)) (\(Text.fixed(bits / $0 / 1e6, 1)) Mbit/s)"
        }
    }
}

extension Installation.Server {
    /// Names the protocol in a measurement, unless it is the usual one.
    fileprivate var suffix: String {
        switch self {
        case .s3: " with S3"
        case .tus: " with tus"
        case .receiver, .unflushed, .discarding, .away, .running: ""
        }
    }
}

/// The protocol of a measurement, on the command line.
enum ProtocolOption: String, ExpressibleByArgument, CaseIterable {
    case filesection, tus, s3

    var server: Installation.Server {
        switch self {
        case .filesection: .receiver
        case .tus: .tus
        case .s3: .s3
        }
    }
}

struct P9: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Time over a slow and long link, compared with curl.",
        discussion: """
            Builds the link itself: two network namespaces, a TUN device in each, and a thread that carries the packets \
            between them, limits their rate, delays and loses them. Needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN), \
            /dev/net/tun and ip(8), and changes nothing outside the namespaces. Without these rights, it says what is \
            missing. The kernel's default congestion control applies to both contenders.
            """)

    @OptionGroup var options: Options
    @OptionGroup var link: LinkOptions
    @OptionGroup var repetition: PairOptions
    @Option(help: "Size of the large file.") var size = ByteCount(256 << 20)
    @Option(help: "How many small files of 64 KiB.") var count = 1000
    @Option(help: "The protocol: filesection, s3 (needs rclone) or tus (needs resumable-upload).")
    var `protocol` = ProtocolOption.filesection

    func run() throws {
        try Report.run(options) { workplace, report in
            for shape in link.shapes {
                let upload = LongLinkUpload(
                    shape: shape, size: size, count: count, pairs: repetition.pairs, server: self.protocol.server)
                try upload.run(workplace).forEach { report.add($0) }
            }
        }
    }

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count must be positive") }
    }
}

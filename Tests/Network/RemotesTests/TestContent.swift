import Foundation
import LinuxSystem
import Remotes
import SystemPackage
import TestSupport
public import UploadCore

@testable import Digests

/// A file of random bytes on disk, with its key, and with the digests, the seal and the plan of these bytes.
struct TestContent: Sendable {
    let key: ContentKey
    let bytes: [UInt8]
    let plan: FragmentPlan
    let digests: [UInt64]
    let seal: ContentSeal
    let path: RelativePath
    let type: MediaType
    let secret: DigestSecret
    let file: String
    private let directory: TemporaryDirectory

    init(
        _ number: UInt64, size: Int, name: String = "beach.jpg", fragmentSize: UInt32 = FragmentPlan.sectionSize,
        type: MediaType = MediaType(kind: .image, mime: "image/jpeg")
    ) throws {
        var random = SeededRandom(seed: number)
        bytes = random.bytes(size)
        key = ContentKey(digest: MD5Hasher.hash(bytes)) ?? ContentKey(high: 0, low: 0)
        plan = FragmentPlan(size: UInt64(size), fragmentSize: fragmentSize)
        self.type = type
        path = RelativePath("trip/" + name) ?? .root
        secret = try Self.makeSecret()
        let digester = BlockDigester(secret: secret)
        digests = stride(from: 0, to: size, by: BlockDigester.blockSize).map { [bytes] start in
            bytes[start..<min(size, start + BlockDigester.blockSize)].withUnsafeBytes { digester.update($0) }
            return digester.finish()
        }
        seal = ContentSeal(size: UInt64(size), digest: digester.seal(of: digests))
        directory = try TemporaryDirectory()
        file = directory.path("file")
        try Data(bytes).write(to: URL(fileURLWithPath: file))
    }

    private static func makeSecret() throws -> DigestSecret {
        var random = SeededRandom(seed: 42)
        guard let secret = DigestSecret(random.bytes(DigestSecret.length)) else { throw Errno.invalidArgument }
        return secret
    }

    var description: UploadDescription {
        UploadDescription(key: key, plan: plan, path: path, type: type, modified: 1_700_000_000_123)
    }

    func upload(_ handle: RemoteHandle, receipts: [Int: String] = [:]) -> RemoteUpload {
        var upload = RemoteUpload(key: key, handle: handle, plan: plan, type: type, receipts: receipts)
        upload.details = description
        return upload
    }

    /// Changes one byte of the file.
    func flip(at offset: Int) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: [bytes[offset] ^ 1])
        try handle.close()
    }

    /// Cuts the file.
    func truncate(to size: Int) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.truncate(atOffset: UInt64(size))
        try handle.close()
    }

    func reader(of fragment: Int) throws -> FragmentReader {
        let range = plan.range(of: fragment)
        let block = UInt64(BlockDigester.blockSize)
        let blocks = Int(range.lowerBound / block)..<Int((range.upperBound + block - 1) / block)
        let descriptor = try FileDescriptor.open(file, .readOnly, options: .closeOnExec)
        // As the agent does.
        let expected = seal.isOfOneBlock ? FragmentReader.Expected.seal(seal) : .digests(Array(digests[blocks]))
        return FragmentReader(
            file: SharedDescriptor(Descriptor(owning: descriptor.rawValue)), path: path, range: range,
            expected: expected, secret: secret)
    }

    func fragment(_ index: Int, id: RemoteHandle, skip: UInt32 = 0) throws -> OutgoingFragment {
        OutgoingFragment(upload: upload(id), index: index, skip: skip, body: try reader(of: index))
    }
}

extension RemoteHandle: ExpressibleByStringLiteral {
    /// A handle without an object, as fileSection and tus have it.
    public init(stringLiteral id: String) { self.init(id: id) }
}

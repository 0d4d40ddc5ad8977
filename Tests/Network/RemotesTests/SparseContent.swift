import LinuxSystem
import SystemPackage
import TestSupport
import UploadCore

@testable import Digests
@testable import Remotes

/// A file that is one large hole, with the digests of its bytes.
struct SparseContent {
    let plan: FragmentPlan
    private let key = ContentKey(high: 5, low: 7)
    private let path = RelativePath("large.mp4") ?? .root
    private let type = MediaType(kind: .video, mime: "video/mp4")
    private let secret: DigestSecret
    private let file: String
    private let directory: TemporaryDirectory

    init(_ size: UInt64, _ traits: RemoteTraits) throws {
        plan = traits.plan(for: size)
        var random = SeededRandom(seed: 42)
        guard let secret = DigestSecret(random.bytes(DigestSecret.length)) else { throw Errno.invalidArgument }
        self.secret = secret
        directory = try TemporaryDirectory()
        file = directory.path("file")
        let descriptor = try FileDescriptor.open(
            file, .readWrite, options: [.create, .exclusiveCreate], permissions: .ownerReadWrite)
        defer { try? descriptor.close() }
        try descriptor.resize(to: Int64(size))
    }

    var description: UploadDescription {
        UploadDescription(key: key, plan: plan, path: path, type: type, modified: nil)
    }

    func upload(_ handle: RemoteHandle) -> RemoteUpload {
        RemoteUpload(key: key, handle: handle, plan: plan, type: type)
    }

    func fragment(_ index: Int, id: RemoteHandle, skip: UInt32) throws -> OutgoingFragment {
        let range = plan.range(of: index)
        let digester = BlockDigester(secret: secret)
        let zeros = [UInt8](repeating: 0, count: BlockDigester.blockSize)
        let starts = stride(from: range.lowerBound, to: range.upperBound, by: BlockDigester.blockSize)
        let digests = starts.map { start in
            zeros[..<Int(min(range.upperBound - start, UInt64(zeros.count)))].withUnsafeBytes { digester.update($0) }
            return digester.finish()
        }
        let descriptor = try FileDescriptor.open(file, .readOnly, options: .closeOnExec)
        let reader = FragmentReader(
            file: SharedDescriptor(Descriptor(owning: descriptor.rawValue)), path: path, range: range,
            expected: .digests(digests), secret: secret)
        return OutgoingFragment(upload: upload(id), index: index, skip: skip, body: reader)
    }
}

import HTTPTypes
import Remotes
import Synchronization
import Testing
import Transport
import UploadCore

@Suite("S3 examiner")
struct S3ExaminerTests {
    /// The levels of the findings, and what they are about.
    private func examine(
        _ server: FakeS3Server, over transport: (any HTTPTransport)? = nil,
        change: (inout S3Options) -> Void = { _ in }
    ) async -> RemoteExamination {
        var options = S3Options(endpoint: "https://s3.example.org/base/", bucket: "photos")
        options.region = "eu-central-1"
        options.prefix = "in/"
        change(&options)
        return await S3Examiner(
            options, transport: transport ?? server.transport, credentials: server.credentials
        ).examine()
    }

    @Test("finds a good store good, and leaves nothing behind")
    func good() async {
        let server = FakeS3Server()
        let examination = await examine(server)
        #expect(examination.findings.map(\.level) == [.ok, .ok, .ok])
        #expect(examination.date != nil)
        #expect(server.objects.isEmpty)
        #expect(
            server.log == [
                "PutObject", "PutObject", "HeadObject", "DeleteObject", "CreateMultipartUpload", "ListParts",
                "UploadPart", "AbortMultipartUpload",
            ])
        #expect(server.openUploads == 0)
    }

    @Test("mentions what a store lacks")
    func lacks() async {
        #expect(await examine(FakeS3Server(.ignoresConditions)).findings.map(\.level) == [.ok, .note, .ok])
        #expect(await examine(FakeS3Server(.refusesConditions)).findings.map(\.level) == [.ok, .note, .ok])
        #expect(await examine(FakeS3Server(.hidesObjects)).findings.map(\.level) == [.ok, .ok, .warning])
    }

    @Test("sends the settings and the checksum that the agent sends")
    func settings() async throws {
        let server = FakeS3Server()
        let examination = await examine(server) {
            $0.storageClass = "COLD"
            $0.serverSideEncryption = "AES256"
            $0.acl = "private"
            $0.checksum = .sha256
        }
        #expect(examination.findings.map(\.level) == [.ok, .ok, .ok])
        let writes = server.transport.requests.filter {
            ["PUT", "POST"].contains($0.method) && !$0.url.contains("partNumber")
        }
        #expect(writes.count == 3)
        for write in writes {
            #expect(write.headers["x-amz-storage-class"] == "COLD" && write.headers["x-amz-acl"] == "private")
            #expect(write.headers["x-amz-server-side-encryption"] == "AES256")
            let checksum = write.method == "PUT" ? "x-amz-checksum-sha256" : "x-amz-checksum-algorithm"
            #expect(write.headers[checksum] != nil && write.headers["Content-MD5"] == nil)
        }
    }

    @Test("a failure of the second request says nothing about conditions")
    func secondRequest() async {
        let server = FakeS3Server()
        let findings = await examine(server, over: BusyAtTheSecondPut(transport: server.transport)).findings
        #expect(findings.map(\.level) == [.ok, .stop] && findings.last?.message.contains("SlowDown") == true)
    }

    @Test("an object that could not be deleted is no obstacle the next time")
    func leftOver() async {
        let server = FakeS3Server()
        server.change { $0.errors = [("DeleteObject", 403, "AccessDenied")] }
        #expect(await examine(server).findings.map(\.level) == [.ok, .ok, .ok, .note])
        #expect(server.objects.count == 1)
        #expect(await examine(server).findings.map(\.level) == [.ok, .ok, .ok])
        #expect(server.objects.isEmpty)
    }

    @Test("another content of the same name stays")
    func foreignObject() async {
        let server = FakeS3Server()
        let other = FakeS3Server.Object(bytes: [1], size: 1, tag: "x", headers: [:])
        server.change { $0.objects["in/outbox-doctor.txt"] = other }
        #expect(await examine(server).findings.map(\.level) == [.ok, .ok, .ok, .note])
        #expect(server.objects["in/outbox-doctor.txt"]?.bytes == [1])
    }

    @Test("warns of keys that may not abort an upload in parts")
    func denied() async {
        let server = FakeS3Server()
        server.change { $0.errors = [("AbortMultipartUpload", 403, "AccessDenied")] }
        let findings = await examine(server).findings
        #expect(findings.map(\.level) == [.ok, .ok, .ok, .warning])
        #expect(findings.last?.remedy?.contains("s3:AbortMultipartUpload") == true)
        server.change { $0.errors = [("ListParts", 403, "AccessDenied")] }
        let others = await examine(server).findings
        #expect(others.map(\.level) == [.ok, .ok, .ok, .warning])
        #expect(others.last?.remedy?.contains("s3:ListMultipartUploadParts") == true)
    }

    @Test("stops at a proxy that takes no whole part")
    func part() async {
        let server = FakeS3Server()
        server.change { $0.errors = [("UploadPart", 413, "")] }
        let findings = await examine(server).findings
        #expect(findings.map(\.level) == [.ok, .ok, .ok, .stop])
        #expect(findings.last?.message.contains("8388608 bytes") == true)
        #expect(findings.last?.message.contains("client_max_body_size") == true)
        #expect(server.openUploads == 0)
    }

    @Test("warns of a bucket in the URL, and of a prefix with an empty part")
    func settingsThatLookWrong() async {
        for endpoint in ["https://s3.example.org/photos", "https://photos.s3.example.org"] {
            let findings = await examine(FakeS3Server()) { $0.endpoint = endpoint }.findings
            #expect(findings.first?.level == .warning && findings.first?.message.contains("bucket photos") == true)
        }
        let findings = await examine(FakeS3Server()) { $0.prefix = "/in/" }.findings
        #expect(findings.first?.level == .warning && findings.first?.remedy?.contains("\"in/\"") == true)
    }

    @Test("names a wrong clock, and goes on")
    func clock() async {
        let server = FakeS3Server()
        server.change { $0.ahead = 4000 }
        #expect(await examine(server).findings.map(\.level) == [.warning, .ok, .ok, .ok])
    }

    @Test("stops at refused keys and a missing bucket")
    func stops() async {
        let server = FakeS3Server()
        server.change { $0.errors = [("PutObject", 404, "NoSuchBucket")] }
        var findings = await examine(server).findings
        #expect(findings.map(\.level) == [.stop])
        #expect(findings.first?.message.contains("create the bucket photos, or correct remote.bucket") == true)
        server.credentials.set(AccessKeys(id: "AKIAOTHER", secret: "x"))
        findings = await examine(server).findings
        #expect(findings.map(\.level) == [.stop] && findings.first?.isAboutCredentials == true)
    }
}

/// Passes requests on, and answers the second PUT itself.
private final class BusyAtTheSecondPut: HTTPTransport {
    private let transport: any HTTPTransport
    private let puts = Mutex(0)

    init(transport: any HTTPTransport) { self.transport = transport }

    func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply {
        let isSecond = puts.withLock { puts in
            if request.method == .put { puts += 1 }
            return request.method == .put && puts == 2
        }
        return isSecond ? FakeS3Server.error(503, "SlowDown") : try await transport.send(request)
    }
}

import Remotes
import Testing
import UploadCore

@Suite("S3 examiner")
struct S3ExaminerTests {
    /// The levels of the findings, and what they are about.
    private func examine(_ server: FakeS3Server) async -> RemoteExamination {
        var options = S3Options(endpoint: "https://s3.example.org/base/", bucket: "photos")
        options.region = "eu-central-1"
        options.prefix = "in/"
        return await S3Examiner(options, transport: server.transport, credentials: server.credentials).examine()
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
                "PutObject", "PutObject", "HeadObject", "DeleteObject", "CreateMultipartUpload", "AbortMultipartUpload",
            ])
        #expect(server.openUploads == 0)
    }

    @Test("mentions what a store lacks")
    func lacks() async {
        #expect(await examine(FakeS3Server(.ignoresConditions)).findings.map(\.level) == [.ok, .note, .ok])
        #expect(await examine(FakeS3Server(.refusesConditions)).findings.map(\.level) == [.ok, .note, .ok])
        #expect(await examine(FakeS3Server(.hidesObjects)).findings.map(\.level) == [.ok, .ok, .warning])
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
        #expect(findings.first?.message.contains("create the bucket, or correct remote.bucket") == true)
        server.credentials.set(AccessKeys(id: "AKIAOTHER", secret: "x"))
        findings = await examine(server).findings
        #expect(findings.map(\.level) == [.stop] && findings.first?.isAboutCredentials == true)
    }
}

import Testing
import UploadCore

@testable import Remotes

/// The steps of an upload to S3 that the suites share.
protocol S3Steps {}

extension S3Steps {
    func small(_ number: UInt64 = 1, name: String = "beach.jpg") throws -> TestContent {
        try TestContent(number, size: 70_000, name: name, fragmentSize: 5 << 20)
    }

    func large(_ server: FakeS3Server) throws -> TestContent { try RemoteConformance(server: server).content() }

    func register(_ content: TestContent, _ server: FakeS3Server) async throws -> Registration {
        try #require(await server.s3.register([content.description]).first).get()
    }

    func handle(_ content: TestContent, _ server: FakeS3Server) async throws -> RemoteHandle {
        guard case .registered(let handle, _) = try await register(content, server) else {
            throw RemoteConformance.Unexpected("existing")
        }
        return handle
    }

    func finish(_ upload: RemoteUpload, _ server: FakeS3Server) async throws -> FinishOutcome {
        try #require(await server.s3.finish([upload]).first).get()
    }

    /// Uploads a small content, and returns the names of its object.
    @discardableResult
    func put(_ content: TestContent, _ server: FakeS3Server) async throws -> RemoteObject {
        let handle = try await handle(content, server)
        let receipt = try #require(try await server.s3.send(content.fragment(0, id: handle)))
        guard case .confirmed(let object) = try await finish(content.upload(handle, receipts: [0: receipt]), server)
        else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        return object
    }

    /// The code of a failure.
    func code(_ failure: RemoteFailure?) -> String {
        switch failure {
        case .temporary(let error, _, _), .busyUpload(let error, _), .signedOut(let error), .permanent(let error),
            .outOfStep(let error):
            error.code
        case .forgotten: "forgotten"
        case .source: "source"
        case .cancelled: "cancelled"
        case nil: "none"
        }
    }

    func failure<Value>(_ result: Result<Value, RemoteFailure>?) -> String {
        if case .failure(let failure) = result { code(failure) } else { "none" }
    }

    func failureOfRegistration(_ server: FakeS3Server) async throws -> String {
        failure(await server.s3.register([try small().description]).first)
    }
}

import UploadCore

@testable import Remotes

/// The steps of an upload over tus that the suites share.
protocol TusSteps {}

extension TusSteps {
    static var mebibyte: UInt32 { 1 << 20 }

    /// A content of two fragments of a mebibyte and a half.
    func content(size: Int = 5 << 19) throws -> TestContent {
        try TestContent(1, size: size, fragmentSize: Self.mebibyte)
    }

    func register(_ content: TestContent, _ server: FakeTusServer) async throws -> RemoteHandle {
        guard case .registered(let handle, _) = try await server.remote.register([content.description])[0].get() else {
            throw RemoteConformance.Unexpected("registered otherwise")
        }
        return handle
    }

    func failure(_ work: () async throws(RemoteFailure) -> Void) async -> RemoteFailure? {
        do {
            try await work()
            return nil
        } catch {
            return error
        }
    }

    func kind(_ failure: RemoteFailure?) -> TusFailureKind {
        switch failure {
        case .outOfStep: .outOfStep
        case .busyUpload: .busyUpload
        case .forgotten: .forgotten
        case .permanent: .permanent
        case .temporary(_, _, .lasting): .lasting
        case .temporary: .temporary
        case .signedOut: .signedOut
        default: .other
        }
    }
}

/// The kinds of failure that the suites tell apart.
enum TusFailureKind: String { case outOfStep, busyUpload, forgotten, permanent, temporary, lasting, signedOut, other }

package import Foundation

/// The server's records of all requests, including those answered by a fault.
extension FaultServer {
    package struct Record {
        package let endpoint: Endpoint
        package let fault: Fault?
        package let at: ContinuousClock.Instant
        package let authorization: String?
        /// The user of the token. Empty if the server does not distinguish users; nil if the token is unknown.
        package let user: String?
        /// The names of the header fields, in lower case.
        package let headerNames: [String]
        /// The body; empty for fragments.
        package let body: Data
        /// The files named by the request, in its order, whichever user received their ids.
        package let files: [SectionStore.File]

        /// The bearer token of the request.
        package var token: String? { FaultServer.token(authorization) }
    }

    /// The names of the files in each preLoad, in order.
    package var registrations: [[String]] { names(.preLoad) }
    /// The names of the files in each isFinish, in order; without the requests of `login`, which name no files.
    package var questions: [[String]] { names(.isFinish).filter { !$0.isEmpty } }
    /// The names of the files in each delete, in order.
    package var deletions: [[String]] { names(.delete) }

    /// Returns all requests with this bearer token, in order.
    package func requests(with token: String?) -> [Record] { records.filter { $0.token == token } }

    private func names(_ endpoint: Endpoint) -> [[String]] {
        records.filter { $0.endpoint == endpoint }.map { $0.files.map(\.name) }
    }

    static func token(_ authorization: String?) -> String? {
        guard let authorization, authorization.hasPrefix("Bearer ") else { return nil }
        return String(authorization.dropFirst("Bearer ".count))
    }
}

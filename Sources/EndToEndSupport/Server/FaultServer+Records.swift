package import Foundation

/// What a server remembers of the requests that came, also of those that a fault answered.
extension FaultServer {
    package struct Record {
        package let endpoint: Endpoint
        package let fault: Fault?
        package let at: ContinuousClock.Instant
        package let authorization: String?
        /// Whose token it bore: "" where users are not told apart, nil where nobody is known by it.
        package let user: String?
        /// The names of its header fields, in lower case.
        package let headerNames: [String]
        /// The body, kept for everything but fragments.
        package let body: Data
        /// The files it is about, in its order, whoever asked for their ids.
        package let files: [SectionStore.File]

        /// The bearer token it came with.
        package var token: String? { FaultServer.token(authorization) }
    }

    /// The names of the files in each preLoad, in order.
    package var registrations: [[String]] { names(.preLoad) }
    /// The names of the files that each isFinish asked about, in order; without those of `login`, which name none.
    package var questions: [[String]] { names(.isFinish).filter { !$0.isEmpty } }
    /// The names of the files that each delete gave up, in order.
    package var deletions: [[String]] { names(.delete) }

    /// Everything that came with this bearer token, in order.
    package func requests(with token: String?) -> [Record] { records.filter { $0.token == token } }

    private func names(_ endpoint: Endpoint) -> [[String]] {
        records.filter { $0.endpoint == endpoint }.map { $0.files.map(\.name) }
    }

    static func token(_ authorization: String?) -> String? {
        guard let authorization, authorization.hasPrefix("Bearer ") else { return nil }
        return String(authorization.dropFirst("Bearer ".count))
    }
}

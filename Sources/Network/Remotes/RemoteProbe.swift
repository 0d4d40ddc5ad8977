public import Transport
import UploadCore

/// The requests with which `outbox doctor` and `outbox login` examine a server of one protocol. They change nothing on the
/// server and contain no credentials; the sender adds these.
public protocol RemoteProbe: Sendable {
    /// A question that every server of the protocol answers, if it accepts the credentials.
    var question: TransportRequest { get }

    /// Returns a fragment of an upload that does not exist. Shows whether a proxy removes the header field that describes
    /// fragments.
    ///
    /// - Returns: nil if the protocol has no such field.
    func strayFragment(withHeader: Bool) throws(TransportError) -> TransportRequest?
}

/// Examines a server for `outbox doctor`: whether it answers, accepts the credentials, takes uploads, and what it offers.
/// What an examination writes, it removes again.
public protocol RemoteExaminer: Sendable {
    /// Examines the server. Takes a few requests; each ends within the transport's time limits.
    func examine() async -> RemoteExamination
}

/// What an examination of a server found.
public struct RemoteExamination: Equatable, Sendable {
    /// One observation.
    public struct Finding: Equatable, Sendable {
        /// How much it matters: `stop` means that uploads don't work.
        public enum Level: Equatable, Sendable { case ok, note, warning, stop }

        /// Whether it is about the credentials rather than the server.
        public var isAboutCredentials: Bool
        /// How much it matters.
        public var level: Level
        /// The observation, in one line.
        public var message: String
        /// What to do; nil if nothing.
        public var remedy: String?

        /// Creates a finding.
        public init(_ level: Level, _ message: String, remedy: String? = nil, isAboutCredentials: Bool = false) {
            self.level = level
            self.message = message
            self.remedy = remedy
            self.isAboutCredentials = isAboutCredentials
        }

        /// Reports the failure that ended an examination.
        ///
        /// - Parameters:
        ///   - remedy: what to do.
        ///   - credentials: what to do if the server refuses the credentials.
        init(_ failure: RemoteFailure, remedy: String? = nil, credentials: String) {
            switch failure {
            case .signedOut(let error):
                self.init(.stop, error.message, remedy: credentials, isAboutCredentials: true)
            case .temporary(let error, _, _), .busyUpload(let error, _), .outOfStep(let error), .permanent(let error):
                self.init(.stop, error.message, remedy: remedy, isAboutCredentials: error.code == "access_denied")
            case .forgotten, .source, .cancelled:
                self.init(.stop, "the server gave no usable answer", remedy: remedy)
            }
        }
    }

    /// The observations, in order.
    public var findings: [Finding]
    /// `Date` header of the last reply, to compare the clocks.
    public var date: String?

    /// Creates an examination.
    public init(findings: [Finding], date: String? = nil) {
        self.findings = findings
        self.date = date
    }
}

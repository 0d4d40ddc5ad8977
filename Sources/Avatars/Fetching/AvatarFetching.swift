public import HTTPTypes
public import LinuxSystem

/// Somebody who fetches pictures: ``CurlFetcher``, or one made up for a test.
public protocol AvatarFetching: Sendable {
    /// Asks for a picture, once.
    ///
    /// Redirects are followed and checked here. Cancelling the task ends the transfer.
    ///
    /// - Parameters:
    ///   - request: what is asked for.
    ///   - draft: an empty file, open for writing; what is in it counts only where the answer is a picture.
    /// - Throws: ``AvatarFetchError``.
    func fetch(_ request: AvatarRequest, into draft: SharedDescriptor) async throws(AvatarFetchError) -> AvatarAnswer
}

/// A picture that is asked for.
public struct AvatarRequest: Equatable, Sendable {
    /// Absolute URL.
    public var url: String
    /// `ETag` of the picture that is at hand, as it came.
    public var entityTag: String?
    /// `Last-Modified` of the picture that is at hand, as it came.
    public var lastModified: String?
    /// Longer ones are refused, in bytes.
    public var maximumLength: Int

    /// A request.
    public init(url: String, entityTag: String? = nil, lastModified: String? = nil, maximumLength: Int) {
        self.url = url
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.maximumLength = maximumLength
    }
}

/// What the server answered.
public struct AvatarAnswer: Equatable, Sendable {
    /// Whether there is something new.
    public enum Content: Equatable, Sendable {
        /// The picture at hand is still the right one.
        case unchanged
        /// So many bytes are in the draft. Whether they are a picture was not looked at.
        case body(length: UInt64)
    }

    /// Whether there is something new.
    public var content: Content
    /// The header, for freshness and validators.
    public var fields: HTTPFields
    /// Whether another host than the URL's answered: it may be the page of a network that wants a log-in.
    public var isFromElsewhere: Bool

    /// An answer.
    public init(content: Content, fields: HTTPFields, isFromElsewhere: Bool = false) {
        self.content = content
        self.fields = fields
        self.isFromElsewhere = isFromElsewhere
    }
}

/// Why there is no answer.
public enum AvatarFetchError: Error, Equatable, Sendable {
    /// The server, the network or the URL is to blame; the fault tells which.
    case failed(AvatarFault, String)
    /// The host, or every address it has, is not one to be asked (``AddressPolicy``).
    case notAllowed(String)
    /// The draft can't be written.
    case storage(String)
    /// The task was cancelled.
    case cancelled
}

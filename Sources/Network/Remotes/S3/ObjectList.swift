/// The list of a bucket's objects, which answers for many small contents at once whether the store has them: a HEAD for
/// each would double their requests.
///
/// Time is cut into spans. The objects are listed once in a span that has many questions, and the list answers only the
/// questions of its span. No answer is older than a span. Of an object that another agent stores meanwhile, the PUT finds out.
///
/// A content whose key is not listed is missing. For the others a HEAD must tell.
struct ObjectList {
    /// The length of a span, and the greatest age of a list. A list of 10,000 objects takes some stores as long as a
    /// thousand PUTs.
    static let span = Duration.seconds(30)
    /// The number of pages, of 1,000 objects each, from which on a list takes longer than it saves.
    static let mostPages = 20
    /// How many questions a page must answer, so that it costs less than their HEADs.
    static let questionsPerPage = 20

    /// How to answer a question.
    enum Answer: Equatable {
        case missing
        /// By a HEAD.
        case unknown
        /// By a HEAD, and the caller lists the objects for the questions that follow: see ``store(_:of:)``.
        case list(ContinuousClock.Instant)
    }

    /// The objects of one prefix.
    struct Keys {
        /// The hash values of the keys, to save memory. Two keys with one hash value both count as listed.
        private var hashes: Set<Int> = []
        /// The number of pages that the list took.
        var pages = 0

        func contains(_ key: String) -> Bool { hashes.contains(key.hashValue) }
        mutating func insert(_ key: String) { hashes.insert(key.hashValue) }
    }

    private var begin: ContinuousClock.Instant?
    /// The questions of the span.
    private var questions = 0
    /// Whether the objects were listed in this span, or are being listed.
    private var isListed = false
    private var keys: Keys?
    /// How many questions a span must have.
    private var fewest = Self.questionsPerPage
    /// Whether the bucket has more objects than `mostPages` hold. The agent deletes none, so they get no fewer.
    private var isTooLong = false

    /// Answers whether the store lacks an object.
    mutating func ask(for key: String, at now: ContinuousClock.Instant) -> Answer {
        if isTooLong { return .unknown }
        var isBusy = questions >= fewest
        if begin.map({ now - $0 >= Self.span }) ?? true {
            // Questions of long ago promise no others.
            if let begin, now - begin >= Self.span * 2 { isBusy = false }
            (begin, questions, isListed, keys) = (now, 0, false, nil)
        }
        questions += 1
        if let keys { return keys.contains(key) ? .unknown : .missing }
        guard isBusy || questions >= fewest, !isListed, let begin else { return .unknown }
        isListed = true
        return .list(begin)
    }

    /// Stores the objects' keys, unless the span is over.
    ///
    /// - Parameter keys: nil if there are more than `mostPages` hold.
    mutating func store(_ keys: Keys?, of span: ContinuousClock.Instant) {
        guard let keys else {
            isTooLong = true
            self.keys = nil
            return
        }
        fewest = max(1, keys.pages) * Self.questionsPerPage
        if begin == span { self.keys = keys }
    }

    /// Adds an object that the list lacks.
    mutating func insert(_ key: String) { keys?.insert(key) }
}

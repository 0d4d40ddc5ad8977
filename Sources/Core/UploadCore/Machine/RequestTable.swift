/// The requests without an answer. Knows how many of each kind there are without counting them.
struct RequestTable: Sendable {
    typealias Request = UploadMachine.Request

    private var requests: [RequestID: Request] = [:]
    private var counts = [Int](repeating: 0, count: RequestKind.allCases.count)

    subscript(id: RequestID) -> Request? { requests[id] }

    var ids: Dictionary<RequestID, Request>.Keys { requests.keys }
    var all: Dictionary<RequestID, Request>.Values { requests.values }

    /// Returns the number of requests of a kind.
    func count(of kind: RequestKind) -> Int { counts[kind.rawValue] }

    /// Whether a request of this kind names an upload.
    func contains(_ kind: RequestKind, about key: ContentKey) -> Bool {
        count(of: kind) > 0 && requests.values.contains { $0.kind == kind && $0.keys.contains(key) }
    }

    /// Returns the requests that meet a condition, the oldest first.
    func sorted(where isIncluded: (Request) -> Bool = { _ in true }) -> [(id: RequestID, request: Request)] {
        requests.filter { isIncluded($0.value) }.sorted { $0.key < $1.key }.map { (id: $0.key, request: $0.value) }
    }

    /// Adds a request, or replaces one by a later state of the same request.
    mutating func store(_ request: Request, as id: RequestID) {
        counts[request.kind.rawValue] += 1
        if let former = requests.updateValue(request, forKey: id) { counts[former.kind.rawValue] -= 1 }
    }

    /// Removes a request and returns it.
    @discardableResult
    mutating func remove(_ id: RequestID) -> Request? {
        guard let request = requests.removeValue(forKey: id) else { return nil }
        counts[request.kind.rawValue] -= 1
        return request
    }

    /// Removes an upload from a request. A request without uploads ends.
    ///
    /// - Returns: the request as it was; nil if it does not name the upload.
    mutating func remove(_ key: ContentKey, from id: RequestID) -> Request? {
        guard var request = requests[id], request.keys.contains(key) else { return nil }
        let former = request
        if request.keys.count == 1 {
            remove(id)
        } else {
            request.keys.remove(key)
            requests[id] = request
        }
        return former
    }
}

extension ControlClient {
    private struct SourceList: Decodable {
        var sources: [SourceEntry]
    }

    /// The sources in one of the given states, ordered by directory; every source there is where nil.
    public func sources(in states: Set<SourceState>? = nil) async throws(ControlError) -> [SourceEntry] {
        if let states, states.isEmpty { return [] }
        let query = states.map { "?state=" + $0.map(\.word).sorted().joined(separator: ",") } ?? ""
        return try await get("/v1/sources" + query, as: SourceList.self).sources
    }

    /// What the agent knows of a source; nil where there is none with that id.
    public func source(_ id: String) async throws(ControlError) -> SourceEntry? {
        try await find("/v1/sources/\(id)")
    }

    /// Does what is wanted of a source.
    ///
    /// - Parameter id: the id of its entry.
    /// - Returns: what became of it; nil where the agent no longer knows the source.
    public func perform(_ wish: SourceWish, onSource id: String) async throws(ControlError) -> SourceOutcome? {
        try await find("/v1/sources/\(id)/\(wish.rawValue)", method: "POST")
    }
}

package import Reports

extension ControlClient {
    private struct SourceList: Decodable {
        var sources: [SourceEntry]
    }

    /// Returns the sources in one of the given states, or all sources if `nil`, sorted by directory.
    package func sources(in states: Set<SourceState>? = nil) async throws(ControlError) -> [SourceEntry] {
        if let states, states.isEmpty { return [] }
        let query = states.map { "?state=" + $0.map(\.word).sorted().joined(separator: ",") } ?? ""
        return try await get("/v1/sources" + query, as: SourceList.self).sources
    }

    /// Returns the entry of a source; `nil` if no source has this id.
    package func source(_ id: String) async throws(ControlError) -> SourceEntry? {
        try await find("/v1/sources/\(id)")
    }

    /// Performs an action on a source.
    ///
    /// - Parameter id: the id of its entry.
    /// - Returns: the outcome; `nil` if the agent no longer knows the source.
    package func perform(_ wish: SourceWish, onSource id: String) async throws(ControlError) -> SourceOutcome? {
        try await find("/v1/sources/\(id)/\(wish.rawValue)", method: "POST")
    }
}

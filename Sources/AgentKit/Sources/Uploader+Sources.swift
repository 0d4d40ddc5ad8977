extension Uploader: SourceBackend {
    func sources() async -> [SourceReport] { [] }

    func source(id: String) async -> SourceReport? { nil }

    func perform(_ wish: SourceWish, onSource id: String) async -> SourceAnswer? { nil }
}

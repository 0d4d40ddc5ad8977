import Foundation

/// The committed posts, as a value: their payloads, the number of commits of each, and violations of contract 4.
package struct PostBook {
    /// Identifies a post: a user, a source and a revision.
    package struct Key: Hashable {
        package let user: String
        package let sourceID: String
        package let revision: Int
    }

    /// The body of a `commit.do`.
    package struct Payload: Decodable, Hashable {
        package let sourceId: String
        package let revision: Int
        package let title: String
        let cover: String?
        package let fileIds: [String]
        package let createDate: String

        /// The first violation of contract 4 in the payload, or nil.
        fileprivate var fault: String? {
            if sourceId.isEmpty || title.isEmpty || revision < 1 { return "an empty name or no revision" }
            if !(1...50).contains(fileIds.count) { return "\(fileIds.count) files" }
            if Set(fileIds).count != fileIds.count { return "a file named twice" }
            if let cover, !fileIds.contains(cover) { return "a cover that is none of the files" }
            // yyyy-MM-dd HH:mm:ss
            let shape = String(createDate.map { $0.isASCII && $0.isNumber ? "0" : $0 })
            return shape == "0000-00-00 00:00:00" ? nil : "the createDate \(createDate)"
        }
    }

    package struct Post {
        package let payload: Payload
        /// The files in the order of their ids.
        package let files: [SectionStore.File]
        /// The post's cover file.
        package var cover: SectionStore.File? { files.first { $0.id == payload.cover } }
        package let url: String
        /// How often the commit arrived, including commits whose reply was lost.
        package fileprivate(set) var times = 1
    }

    package private(set) var posts: [Key: Post] = [:]
    /// Commits that repeat a known source and revision with another payload. There must never be any.
    package private(set) var contradictions: [String] = []

    /// Returns the known revisions of a source, in order.
    package func revisions(of sourceID: String, user: String = "") -> [Post] {
        posts.filter { $0.key.user == user && $0.key.sourceID == sourceID }.values
            .sorted { $0.payload.revision < $1.payload.revision }
    }

    /// Returns the only post with that title, or nil if there are none or several.
    package func post(titled title: String) -> Post? {
        let found = posts.values.filter { $0.payload.title == title }
        return found.count == 1 ? found[0] : nil
    }

    /// Executes a commit.
    ///
    /// - Parameter file: Returns the user's file with this id, and whether the file is finished. Returns nil for ids
    ///   of other users.
    /// - Returns: The answer, and the rule that the commit violates, if any.
    mutating func commit(
        _ body: Data, user: String, file: (String) -> (file: SectionStore.File, isFinished: Bool)?
    ) -> (answer: SectionStore.Answer, violation: String?) {
        guard let payload = try? JSONDecoder().decode(Payload.self, from: body) else {
            return refusal(400, "commit body: \(String(decoding: body, as: UTF8.self))")
        }
        if let fault = payload.fault { return refusal(400, "commit of \(payload.sourceId) with \(fault)") }
        let key = Key(user: user, sourceID: payload.sourceId, revision: payload.revision)
        if let known = posts[key] {
            posts[key]?.times += 1
            let answer = SectionStore.Answer(data: ["url": known.url])
            guard known.payload != payload else { return (answer, nil) }
            let contradiction = "commit of \(known.payload), then of \(payload)"
            contradictions.append(contradiction)
            return (answer, contradiction)
        }
        let found = payload.fileIds.compactMap(file)
        // A server may forget files, so this is no violation.
        guard found.count == payload.fileIds.count else {
            return (SectionStore.Answer(code: 404, message: "no such file"), nil)
        }
        if let open = found.first(where: { !$0.isFinished }) {
            return refusal(409, "commit of \(payload.sourceId) with \(open.file.name), which is not finished")
        }
        let post = Post(payload: payload, files: found.map(\.file), url: "http://127.0.0.1/s/\(posts.count + 1)")
        posts[key] = post
        return (SectionStore.Answer(data: ["url": post.url]), nil)
    }

    private func refusal(_ code: Int, _ why: String) -> (answer: SectionStore.Answer, violation: String?) {
        (SectionStore.Answer(code: code, message: why), why)
    }
}

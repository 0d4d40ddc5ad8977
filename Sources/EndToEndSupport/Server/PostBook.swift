import Foundation

/// The posts that commits made, as a value: what each said, how often it came, and what in them contract 4 does not
/// allow.
package struct PostBook {
    /// One source and revision of one user makes one post.
    package struct Key: Hashable {
        package let user: String
        package let sourceID: String
        package let revision: Int
    }

    /// What a `commit.do` says.
    package struct Payload: Decodable, Hashable {
        package let sourceId: String
        package let revision: Int
        package let title: String
        package let cover: String?
        package let fileIds: [String]
        package let createDate: String

        /// What contract 4 does not allow in it; nil where all is well.
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
        /// The file that stands for the post.
        package var cover: SectionStore.File? { files.first { $0.id == payload.cover } }
        package let url: String
        /// How often the commit came and was answered, or its reply lost.
        package fileprivate(set) var times = 1
    }

    package private(set) var posts: [Key: Post] = [:]
    /// Commits of a source and revision that was there already, with another payload: there must never be one.
    package private(set) var contradictions: [String] = []

    /// The revisions of a source that there are, in order.
    package func revisions(of sourceID: String, user: String = "") -> [Post] {
        posts.filter { $0.key.user == user && $0.key.sourceID == sourceID }.values
            .sorted { $0.payload.revision < $1.payload.revision }
    }

    /// The only post with that title; nil where there is none, or several.
    package func post(titled title: String) -> Post? {
        let found = posts.values.filter { $0.payload.title == title }
        return found.count == 1 ? found[0] : nil
    }

    /// Takes a commit.
    ///
    /// - Parameter file: what the user has under an id, and whether it is finished; nil for ids that are not theirs.
    /// - Returns: the answer, and what about the commit is against the rules.
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
        // A server may forget: no fault of the client's.
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

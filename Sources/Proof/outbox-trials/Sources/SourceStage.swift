import EndToEndSupport
import Foundation
import TestSupport

/// Posts that arrive, are edited, submitted and removed while the agent is killed, with the expectations for each.
struct SourceStage {
    /// The planned life of a source.
    enum Life: CaseIterable {
        /// Dropped once and never changed.
        case steady
        /// Dropped as a draft and submitted later.
        case draft
        /// Files are removed, added and changed after the drop.
        case edited
        /// Removed again.
        case removed
        /// Stays a draft forever.
        case kept
    }

    struct File {
        let key: String
        /// Whether no other file has this content.
        let isOwn: Bool
    }

    struct Source {
        let directory: String
        let life: Life
        var files: [String: File] = [:]
        /// The number of changes since the drop.
        var turns = 0
        var keys: Set<String> { Set(files.values.map(\.key)) }
    }

    private struct Content {
        let number: Int
        let media: SampleMedia
        let size: Int
        let seed: UInt64
    }

    let agent: Agent
    let server: FaultServer
    let faults: SourceFaults
    var random: SeededRandom
    private(set) var judge = Judge()
    private(set) var posts = PostJudge()
    private(set) var sources: [Source] = []
    private(set) var plainFiles = 0
    private(set) var changes = 0
    private var contents = 0
    /// Contents that other files may share, and that are never removed.
    private var lasting: [Content] = []

    private static let mostFiles = 50
    private static let counts = [3, 1, 12, 2, mostFiles, 8, 5, 20]

    init(agent: Agent, server: FaultServer, faults: SourceFaults, random: SeededRandom) {
        self.agent = agent
        self.server = server
        self.faults = faults
        self.random = random
    }

    // MARK: Dropping posts

    mutating func dropSource() throws {
        let number = sources.count
        // Every third source stays unchanged; the others take turns.
        let life: Life = number % 3 == 0 ? .steady : Life.allCases[number % Life.allCases.count]
        var source = Source(directory: "source-\(number)", life: life)
        let isDraft = life == .draft || life == .kept
        try Files.makeDirectory(agent.path(source.directory))
        // The agent may upload files written before `source.toml` as single files.
        let comesFirst = isDraft || Bool.random(using: &random)
        if comesFirst { try describe(source, isDraft: isDraft) }
        for _ in 0..<Self.counts[number % Self.counts.count] { try add(to: &source) }
        if !comesFirst { try describe(source, isDraft: isDraft) }
        sources.append(source)
        if !isDraft { expectPost(of: source) }
    }

    mutating func dropFile() throws {
        let content = shared() ?? fresh()
        lasting.append(content)
        let name = "plain/\(plainFiles)-\(content.number).\(content.media.fileExtension)"
        faults.mayFail(String(name.dropFirst("plain/".count)), number: content.number)
        judge.stands(try agent.drop(name, content.media, size: content.size, seed: content.seed), at: name)
        plainFiles += 1
    }

    private func describe(_ source: Source, isDraft: Bool) throws {
        let text = "title = \"\(source.directory)\"\ndraft = \(isDraft)\n"
        try Files.write(Array(text.utf8), to: agent.path("\(source.directory)/source.toml"))
    }

    private mutating func add(to source: inout Source) throws {
        // A draft's contents must be unique, so that the trial can detect a sent draft.
        let isDraft = source.life == .draft || source.life == .kept
        let known = isDraft ? nil : shared()
        let content = known ?? fresh()
        if source.life == .steady, known == nil, Bool.random(using: &random) { lasting.append(content) }
        let file = "\(source.files.count + source.turns * 100)-\(content.number).\(content.media.fileExtension)"
        let isDeep = source.files.count % 4 == 3
        try put(content, at: isDeep ? "day 2/\(file)" : file, isOwn: known == nil, in: &source)
    }

    private mutating func put(_ content: Content, at name: String, isOwn: Bool, in source: inout Source) throws {
        let path = "\(source.directory)/\(name)"
        // The name of an overwritten file still determines the class, whatever its current content.
        faults.mayFail(String(name.split(separator: "/").last ?? ""), number: Self.number(of: name))
        let key = try agent.drop(path, content.media, size: content.size, seed: content.seed)
        source.files[name] = File(key: key, isOwn: isOwn)
    }

    /// Returns a content that already exists, in one of six calls.
    private mutating func shared() -> Content? {
        Int.random(in: 0..<6, using: &random) == 0 ? lasting.randomElement(using: &random) : nil
    }

    private mutating func fresh(_ media: SampleMedia? = nil) -> Content {
        contents += 1
        let isLarge = Int.random(in: 0..<8, using: &random) == 0
        return Content(
            number: contents, media: media ?? SampleMedia.allCases[contents % 3],
            size: isLarge
                ? Int.random(in: 600_000...2_200_000, using: &random) : Int.random(in: 1000...120_000, using: &random),
            seed: random.next())
    }

    private mutating func expectPost(of source: Source) {
        for (name, file) in source.files { judge.stands(file.key, at: "\(source.directory)/\(name)") }
        posts.stands(source.keys, in: source.directory)
    }

    // MARK: Changing and submitting

    /// Makes the next change to a random source that still has changes planned.
    ///
    /// - Parameter isAnswering: Whether the agent can handle a `submit`.
    mutating func disturb(isAnswering: Bool, _ findings: inout Findings) async throws {
        let open = sources.indices.filter { index in
            switch sources[index].life {
            case .steady, .kept: false
            case .draft, .removed: sources[index].turns == 0
            case .edited: sources[index].turns < 3
            }
        }
        guard let index = open.randomElement(using: &random) else { return }
        var source = sources[index]
        source.turns += 1
        changes += 1
        switch source.life {
        case .draft: try await submit(source, isAnswering: isAnswering, &findings)
        case .removed: try await remove(source)
        default: try edit(&source)
        }
        sources[index] = source
    }

    private mutating func submit(_ source: Source, isAnswering: Bool, _ findings: inout Findings) async throws {
        expectSecrecy(of: source, &findings)
        if isAnswering {
            let agent = agent
            let answer = try await Poll.value("an answer to submit", timeout: .seconds(180)) {
                let output = try await agent.command("submit", source.directory)
                // Try again: a busy agent may not have seen the source yet.
                return output.code == 75 ? nil : output
            }
            findings.expect(
                answer.code == 0, "submit \(source.directory): \(answer.standardError)\(answer.standardOutput)")
        } else {
            try describe(source, isDraft: false)
        }
        expectPost(of: source)
    }

    private mutating func remove(_ source: Source) async throws {
        for name in source.files.keys { judge.removed("\(source.directory)/\(name)") }
        posts.removed(source.directory)
        try await agent.remove(directory: agent.path(source.directory))
    }

    private mutating func edit(_ source: inout Source) throws {
        // Leave shared contents alone: the agent would have to send a content again if it came back.
        let own = source.files.filter(\.value.isOwn).keys.sorted()
        if own.count > 1, let name = own.randomElement(using: &random) {
            if Bool.random(using: &random) {
                let media = SampleMedia.allCases.first { name.hasSuffix(".\($0.fileExtension)") }
                try put(fresh(media), at: name, isOwn: true, in: &source)
            } else {
                agent.remove("\(source.directory)/\(name)")
                judge.removed("\(source.directory)/\(name)")
                source.files[name] = nil
            }
        }
        if source.files.count < Self.mostFiles { try add(to: &source) }
        expectPost(of: source)
    }

    // MARK: Checking

    /// Checks that no request named any of the draft's files.
    func expectSecrecy(of source: Source, _ findings: inout Findings) {
        let told = Set(server.store.announced.values.map(\.md5)).intersection(source.keys)
        findings.expect(
            told.isEmpty, "\(source.directory) is a draft, and \(told.count) of its files were announced to the server")
    }

    /// Contents that the server may lose before their post exists: no other file shares them.
    var forgettable: Set<String> {
        let known = Set(lasting.map(\.number))
        return Set(
            sources.filter { $0.life == .steady }.flatMap { source in
                source.files.filter { name, file in
                    file.isOwn && !known.contains(Self.number(of: name))
                }.values.map(\.key)
            })
    }

    private static func number(of name: String) -> Int {
        name.split(separator: "-").last?.split(separator: ".").first.flatMap { Int($0) } ?? 0
    }

    /// Reads all existing sidecars of sources. Returns their number.
    func readAll(_ findings: inout Findings) -> Int {
        var reads = 0
        for source in sources {
            do {
                if try agent.source(source.directory) != nil { reads += 1 }
            } catch {
                findings.expect(false, "the sidecar of \(source.directory) is torn: \(error)")
            }
        }
        return reads
    }
}

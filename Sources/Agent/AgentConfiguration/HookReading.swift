import Text
internal import TOMLKit

/// Reads a `[[hook]]`.
struct HookReading {
    static let table = "hook"
    private static let names = ["name", "on", "run", "post", "secret_file", "batch", "timeout", "keep"]

    let values: [String: SettingValue]
    let resolver: PathResolver

    init(_ table: TOMLTable, _ resolver: PathResolver) {
        values = Dictionary(
            table.keys.compactMap { key in table[key].map { (key, SettingValue($0)) } }, uniquingKeysWith: { $1 })
        self.resolver = resolver
    }

    /// - Throws: the first mistake; the reason begins with the key.
    func hook() throws(Objection) -> Configuration.Hook {
        if let unknown = values.keys.sorted().first(where: { !Self.names.contains($0) }) {
            let hint = Spelling.nearest(to: unknown, among: Self.names).map { "; did you mean \"\($0)\"?" } ?? ""
            throw Objection("\(unknown.asKeyPart): unknown key\(hint)")
        }
        guard let name = try text("name"), ConfigurationKey.isStyleName(name) else {
            throw Objection("name: every hook needs a name of letters, digits, _ and -")
        }
        var hook = Configuration.Hook(name: name, call: try call())
        if let value = values["on"] { hook.events = try events(value) }
        if let batch = try text("batch") { (hook.batch, hook.window) = try Self.batch(batch) }
        if let value = values["timeout"] {
            hook.timeout = try duration("timeout", value, .seconds(1)...(.seconds(3600)))
        }
        if let value = values["keep"] { hook.keep = try duration("keep", value, .seconds(1)...Units.longest) }
        return hook
    }

    private func call() throws(Objection) -> Configuration.Hook.Call {
        switch (values["run"], try text("post")) {
        case (let value?, nil):
            guard case .list(let words) = value, !words.isEmpty else {
                throw Objection("run: must be a program and its arguments: run = [\"/usr/local/bin/publish\"]")
            }
            if values["secret_file"] != nil {
                throw Objection("secret_file: signs what `post` sends, not a program's input")
            }
            return .run(try program(words))
        case (nil, let url?):
            do throws(Objection) { _ = try WebAddress(String(url.prefix { $0 != "?" })) } catch {
                throw Objection("post: \(error.reason)")
            }
            var secretFile: String?
            if let file = try text("secret_file") { secretFile = try path("secret_file", file) }
            return .post(url, secretFile: secretFile)
        case (nil, nil): throw Objection("run: a hook needs `run` or `post`")
        case (_?, _?): throw Objection("post: a hook has `run` or `post`, not both")
        }
    }

    private func program(_ words: [SettingValue]) throws(Objection) -> [String] {
        var texts: [String] = []
        for word in words {
            guard case .string(let text) = word else { throw Objection("run: must be an array of strings") }
            texts.append(text)
        }
        texts[0] = try path("run", texts[0])
        return texts
    }

    private func events(_ value: SettingValue) throws(Objection) -> Set<Configuration.Hook.Event> {
        guard case .list(let words) = value, !words.isEmpty else {
            throw Objection("on: must be an array such as [\"done\", \"failed\"]")
        }
        var events: Set<Configuration.Hook.Event> = []
        for word in words {
            guard case .string(let text) = word, let event = Configuration.Hook.Event(rawValue: text) else {
                let known = Configuration.Hook.Event.allCases.map(\.rawValue).joined(separator: ", ")
                throw Objection("on: \(word.description.shortened) is none of \(known)")
            }
            events.insert(event)
        }
        return events
    }

    /// Parses `1` or `500/10s`.
    private static func batch(_ text: String) throws(Objection) -> (Int, Duration) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard let count = Int(parts.first ?? ""), (1...10_000).contains(count), parts.count <= 2 else {
            throw Objection("batch: must be \"1\", or a number and a time such as \"500/10s\"")
        }
        guard parts.count == 2 else { return (count, .zero) }
        guard let window = Units.duration(parts[1]), (.zero...(.seconds(3600))).contains(window) else {
            throw Objection("batch: \(parts[1].shortened.quoted) is not a time such as \"10s\", at most an hour")
        }
        return (count, window)
    }

    private func text(_ name: String) throws(Objection) -> String? {
        switch values[name] {
        case nil: return nil
        case .string(let text)?: return text
        case .integer(let number)? where name == "batch": return String(number)
        case let value?: throw Objection("\(name): must be a string, is \(value.typeName)")
        }
    }

    private func path(_ name: String, _ text: String) throws(Objection) -> String {
        do throws(Objection) {
            return try SettingType<String>.path.read(.string(text), resolver)
        } catch {
            throw Objection("\(name): \(error.reason)")
        }
    }

    private func duration(
        _ name: String, _ value: SettingValue, _ range: ClosedRange<Duration>
    ) throws(Objection) -> Duration {
        do throws(Objection) {
            return try SettingType<Duration>.duration(range).read(value, resolver)
        } catch {
            throw Objection("\(name): \(error.reason)")
        }
    }
}

/// Which uploads belong together, as the files of one source. In memory only: the source's own record has it.
struct UploadGroups: Equatable, Sendable {
    private var lists: [String: [ContentKey]] = [:]
    private var names: [ContentKey: String] = [:]
    /// Groups whose turn to be registered, or asked about, came too early: they are left alone until something happens
    /// to one of their members.
    private var tooEarly: [RequestKind: Set<String>] = [:]

    /// The group an upload belongs to.
    func name(of key: ContentKey) -> String? { names[key] }

    /// The members of a group, in the order they were named.
    func members(of name: String) -> [ContentKey] { lists[name] ?? [] }

    /// Says who belongs to a group; an empty list ends it.
    ///
    /// - Parameter live: groups that keep what belongs to them already.
    mutating func set(_ name: String, to keys: [ContentKey], live: Set<String>) {
        for key in members(of: name) { names[key] = nil }
        lists[name] = nil
        wake(name)
        var list: [ContentKey] = []
        for key in keys where names[key] != name {
            if let other = names[key] {
                if live.contains(other) { continue }
                lists[other]?.removeAll { $0 == key }
                if lists[other]?.isEmpty == true { lists[other] = nil }
            }
            names[key] = name
            list.append(key)
        }
        if !list.isEmpty { lists[name] = list }
    }

    func isTooEarly(_ name: String, for kind: RequestKind) -> Bool { tooEarly[kind]?.contains(name) == true }

    mutating func cameTooEarly(_ name: String, for kind: RequestKind) { tooEarly[kind, default: []].insert(name) }

    /// The group's turn may come again.
    ///
    /// - Returns: whether it had come too early before.
    @discardableResult
    mutating func wake(_ name: String) -> Bool {
        var was = false
        for kind in tooEarly.keys where tooEarly[kind]?.remove(name) != nil { was = true }
        return was
    }
}

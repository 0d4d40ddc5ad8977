/// Groups the uploads of each source. In memory only; the source's record stores the list.
struct UploadGroups: Equatable, Sendable {
    private var lists: [String: [ContentKey]] = [:]
    private var names: [ContentKey: String] = [:]
    /// Groups that were incomplete at their turn for a kind of request. The machine skips them until a member changes.
    private var tooEarly: [RequestKind: Set<String>] = [:]

    /// Returns the group of an upload.
    func name(of key: ContentKey) -> String? { names[key] }

    /// Returns the members of a group, in the order given.
    func members(of name: String) -> [ContentKey] { lists[name] ?? [] }

    /// Replaces the members of a group. An empty list removes the group.
    ///
    /// - Parameter live: groups that keep the members they already have.
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

    /// Lets the group have its turn again.
    ///
    /// - Returns: whether the group was skipped before.
    @discardableResult
    mutating func wake(_ name: String) -> Bool {
        var was = false
        for kind in tooEarly.keys where tooEarly[kind]?.remove(name) != nil { was = true }
        return was
    }
}

/// One of the environment's named B+trees ("databases" in LMDB's manual), by its place in the list of names the
/// environment was opened with.
struct Table: Hashable, Sendable {
    let index: Int
    let name: String
}

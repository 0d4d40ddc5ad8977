/// One of the environment's named B+trees ("databases" in LMDB's manual), by its position in the list of names passed
/// to the environment.
struct Table: Hashable, Sendable {
    let index: Int
    let name: String
}

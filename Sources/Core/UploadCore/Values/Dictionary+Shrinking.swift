extension Dictionary {
    /// Gives the memory of a dictionary back that was large and is empty now. Dictionaries never shrink by themselves.
    package mutating func shrinkIfEmpty() {
        if isEmpty, capacity > 256 { self = [:] }
    }
}

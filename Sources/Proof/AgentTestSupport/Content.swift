/// Returns `count` bytes that depend on `seed`.
package func content(_ seed: UInt8, _ count: Int = 1000) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ ($0 >> 9)) &+ seed }
}

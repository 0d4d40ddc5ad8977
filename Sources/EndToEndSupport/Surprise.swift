/// Something that a test did not expect and cannot go on with.
package struct Surprise: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

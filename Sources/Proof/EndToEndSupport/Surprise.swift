/// An unexpected condition that stops a test.
package struct Surprise: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// The result of a recipe for one file: a product, which the agent uploads in place of the file, or nothing.
///
/// An object, so that records of files without a product stay small.
public final class Product: Hashable, Sendable {
    /// A description of the product. The file's record holds the key of the product.
    public struct Made: Hashable, Sendable {
        /// The type of the product.
        public var type: MediaType
        /// The size in bytes.
        public var size: UInt64
        /// Dimensions and duration, as far as they are known.
        public var facts: MediaFacts

        /// Creates a description.
        public init(type: MediaType, size: UInt64, facts: MediaFacts) {
            self.type = type
            self.size = size
            self.facts = facts
        }
    }

    /// The MD5 of the file's bytes.
    public let original: ContentKey
    /// Size and digest of the file's bytes.
    public let originalSeal: ContentSeal
    /// The recipe, as `Recipe.text`.
    public let recipe: String
    /// The product; nil if the file's own bytes are uploaded.
    public let made: Made?
    /// Why the recipe made nothing; nil if it made a product, or if the file needed none.
    public let error: String?

    /// Creates a description.
    public init(original: DropContent, recipe: String, made: Made?, error: String? = nil) {
        self.original = original.key
        originalSeal = original.seal
        self.recipe = recipe
        self.made = made
        self.error = error
    }

    /// Creates a description from stored values.
    public init(original: ContentKey, seal: ContentSeal, recipe: String, made: Made?, error: String?) {
        self.original = original
        originalSeal = seal
        self.recipe = recipe
        self.made = made
        self.error = error
    }

    /// Whether both describe the same product of the same content.
    public static func == (left: Product, right: Product) -> Bool {
        left === right
            || left.original == right.original && left.originalSeal == right.originalSeal
                && left.recipe == right.recipe && left.made == right.made && left.error == right.error
    }

    /// Hashes what identifies the product.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(original)
        hasher.combine(recipe)
    }
}

/// The ledger's record of what a recipe made of a content.
public struct ProductRecord: Equatable, Sendable {
    /// The content that was processed, the recipe and the product's properties.
    public var product: Product
    /// The product's key and seal; nil if the recipe made nothing.
    public var content: DropContent?

    /// Creates a record.
    public init(product: Product, content: DropContent?) {
        self.product = product
        self.content = content
    }
}

import UploadCore

extension ProductRecord: StoredRecord {
    static var table: LedgerTable { .products }

    /// The record's key in the table.
    var key: [UInt8] { LedgerKeys.product(product.original, recipe: product.recipe) }

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(product)
        encoder.append(UInt8(content == nil ? 0 : 1))
        if let content {
            encoder.append(content.key)
            encoder.append(content.seal)
        }
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> ProductRecord? {
        let product = decoder.readProduct()
        guard decoder.readFlag() else { return ProductRecord(product: product, content: nil) }
        let content = DropContent(key: decoder.readContentKey(), seal: decoder.readSeal())
        return ProductRecord(product: product, content: content)
    }
}

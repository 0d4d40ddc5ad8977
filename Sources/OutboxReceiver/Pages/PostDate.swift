/// The date of a post, `yyyy-MM-dd HH:mm:ss` in UTC, for people.
enum PostDate {
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    /// A `time` element; of a text that is no such date the text as it is.
    static func html(_ text: String) -> String {
        let parts = text.split { "- :".contains($0) }.map { Int($0) ?? -1 }
        guard text.utf8.count == 19, parts.count == 6, (1...12).contains(parts[1]), (1...31).contains(parts[2]),
            parts[0] > 0, (0...23).contains(parts[3]), (0...59).contains(parts[4]), (0...60).contains(parts[5])
        else { return "<span>\(HTMLText.escaped(text))</span>" }
        let machine = text.replacing(" ", with: "T") + "Z"
        let day = "\(parts[2]) \(months[parts[1] - 1]) \(parts[0])"
        return "<time datetime=\"\(machine)\" title=\"\(text) UTC\">\(day)</time>"
    }
}

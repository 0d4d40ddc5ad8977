/// Formats the date of a post, `yyyy-MM-dd HH:mm:ss` in UTC, for people.
enum PostDate {
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    /// Whether the text has this format and names an existing day.
    static func isDate(_ text: String) -> Bool { day(of: text) != nil }

    /// Returns a `time` element, or the escaped text in a `span` if the text is no such date.
    static func html(_ text: String) -> String {
        guard let (year, month, day) = day(of: text) else { return "<span>\(HTMLText.escaped(text))</span>" }
        let machine = text.replacing(" ", with: "T") + "Z"
        return "<time datetime=\"\(machine)\" title=\"\(text) UTC\">\(day) \(months[month - 1]) \(year)</time>"
    }

    private static func day(of text: String) -> (year: Int, month: Int, day: Int)? {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let shape = text.utf8.map { digits.contains($0) ? UInt8(ascii: "0") : $0 }
        guard shape.elementsEqual("0000-00-00 00:00:00".utf8) else { return nil }
        let parts = text.split { "- :".contains($0) }.compactMap { Int($0) }
        guard parts.count == 6, parts[0] > 0, (1...12).contains(parts[1]),
            (1...days(of: parts[1], in: parts[0])).contains(parts[2]), parts[3] < 24, parts[4] < 60, parts[5] < 60
        else { return nil }
        return (parts[0], parts[1], parts[2])
    }

    private static func days(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

import Testing

import Text

@Suite("Text for terminals")
struct DisplayTextTests {
    @Test(
        "control characters are escaped",
        arguments: [
            ("a\u{1B}[2Jb", #"a\u{1B}[2Jb"#), ("a\nb\tc\rd", #"a\nb\tc\rd"#), ("a\u{7F}", #"a\u{7F}"#),
            ("a\u{9B}31m", #"a\u{9B}31m"#), ("gpj.\u{202E}exe", #"gpj.\u{202E}exe"#), ("\u{2028}", #"\u{2028}"#),
            ("\r\n", #"\r\n"#), ("\u{FEFF}a", #"\u{FEFF}a"#),
        ])
    func escaping(text: String, shown: String) {
        #expect(DisplayText.escaped(text) == shown)
    }

    @Test("harmless text is unchanged", arguments: ["beach.jpg", "日本語 é e\u{301}", "👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿", #"C:\n"#])
    func harmless(text: String) {
        #expect(DisplayText.escaped(text) == text)
    }

    @Test(
        "the width counts columns, not characters",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("ｱ", 1), ("Ａ", 2), ("한", 2), ("😀", 2),
            ("👨‍👩‍👧", 2), ("🇩🇪", 2), ("❤", 1), ("❤\u{FE0F}", 2), ("…", 1), ("█▌░", 3), ("\u{1B}[31mred\u{1B}[0m", 3),
        ])
    func width(text: String, columns: Int) {
        #expect(DisplayText.width(text) == columns)
    }

    @Test(
        "a text that is too long is cut in the middle",
        arguments: [
            ("holiday-in-spain.jpg", 20, "holiday-in-spain.jpg"), ("holiday-in-spain.jpg", 11, "holid…n.jpg"),
            ("日本語日本語.jpg", 9, "日本….jpg"), ("abc", 1, "a"), ("日本", 1, ""), ("abc", 0, ""), ("abc", -3, ""),
        ])
    func truncation(text: String, width: Int, shown: String) {
        #expect(DisplayText.truncated(text, to: width) == shown)
    }

    @Test("no cut text exceeds the width", arguments: 0..<40)
    func neverWider(width: Int) {
        for ellipsis in ["…", "..."] {
            let shown = DisplayText.truncated("a日b本c語d😀e/👨‍👩‍👧/picture.jpg", to: width, ellipsis: ellipsis)
            #expect(DisplayText.width(shown) <= width)
        }
    }

    @Test("padding fills up by columns, on either side")
    func padding() {
        #expect(DisplayText.padded("日", to: 4) == "日  ")
        #expect(DisplayText.padded("5 s", to: 5, right: true) == "  5 s")
        #expect(DisplayText.padded("long", to: 2) == "long")
    }
}

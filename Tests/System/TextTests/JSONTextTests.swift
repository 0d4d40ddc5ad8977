import Foundation
import Testing

import Text

@Suite("JSON text")
struct JSONTextTests {
    @Test(
        "escapes characters that JSON does not allow",
        arguments: [
            ("plain", #""plain""#), (#"a"b\c"#, #""a\"b\\c""#), ("a\nb\rc\td", #""a\nb\rc\td""#),
            ("\u{0}\u{1}\u{1F}\u{7F}", #""\u0000\u0001\u001f\u007f""#), ("é€😀", "\"é€😀\""), ("a/b", #""a/b""#),
            ("\r\n", #""\r\n""#), ("", #""""#),
        ])
    func escapes(text: String, json: String) throws {
        let written = line { $0.member("t", text) }
        #expect(written == "{\"t\":\(json)}")
        let read = try JSONSerialization.jsonObject(with: Data(written.utf8)) as? [String: String]
        #expect(read?["t"] == text)
    }

    @Test(
        "writes numbers in JSON's format",
        arguments: [
            (0, "0"), (1, "1"), (0.3, "0.3"), (0.9999, "0.9999"), (-2.5, "-2.5"), (1e300, "1e+300"), (.nan, "null"),
            (.infinity, "null"), (12.0, "12"),
        ] as [(Double, String)])
    func numbers(value: Double, json: String) {
        #expect(line { $0.member("n", value) } == "{\"n\":\(json)}")
    }

    @Test("writes the largest integers exactly")
    func integers() {
        #expect(line { $0.member("n", UInt64.max) } == "{\"n\":18446744073709551615}")
        #expect(line { $0.member("n", Int64.min) } == "{\"n\":-9223372036854775808}")
    }

    @Test("keeps the order of members and writes absent ones as null")
    func order() {
        let text = line { text in
            text.member("b", true)
            text.nested("a") { $0.member("x", nil as String?) }
            text.null("c")
            text.member("d", nil as Int?)
        }
        #expect(text == #"{"b":true,"a":{"x":null},"c":null,"d":null}"#)
    }

    @Test("writes one member a line")
    func members() {
        var text = JSONText(layout: .members)
        text.object { text in
            text.member("a", 1)
            text.nested("b") { text in
                text.member("x", 1)
                text.member("y", 2)
            }
        }
        #expect(String(decoding: text.bytes, as: UTF8.self) == "{\n  \"a\": 1,\n  \"b\": {\"x\": 1, \"y\": 2}\n}")
    }

    private func line(_ body: (inout JSONText) -> Void) -> String {
        var text = JSONText(layout: .line)
        text.object(body)
        return String(decoding: text.bytes, as: UTF8.self)
    }
}

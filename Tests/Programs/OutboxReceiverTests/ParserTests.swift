import Foundation
import NIOCore
import Testing

@testable import OutboxReceiver

/// These parsers read input that anyone can send.
@Suite struct ParserTests {
    // MARK: JSON

    @Test(arguments: [
        #"{"a":[1,-2,3.5,1e3,true,false,null,"x"],"b":{"c":"\u00e9\ud83d\ude00\n\/\\\""}}"#, "[]", "{}", " 0 ", "\"\"",
        #""ä\tb""#, "-0", "[[[[1]]]]",
    ])
    func jsonIsReadAsFoundationReadsIt(text: String) throws {
        let ours = try #require(JSONParser.value(of: text))
        let theirs = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        #expect(Self.object(ours).isEqual(theirs))
    }

    @Test(arguments: [
        "", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "01", "1.", "+1", "\"\u{1}\"", #""\ud800""#, #""\udc00\ud800""#,
        #""\x""#, "nul", "[1] 2", "'a'", "1e999", "\"a", #""\u12g4""#,
    ])
    func whatIsNoJSONIsRefused(text: String) {
        #expect(JSONParser.value(of: text) == nil)
    }

    @Test func jsonThatIsTooDeepIsRefused() {
        #expect(JSONParser.value(of: String(repeating: "[", count: 1_000_000)) == nil)
        #expect(JSONParser.value(of: "[" + String(repeating: "1,", count: 19_000) + "1]") != nil)
        #expect(JSONParser.value(of: "[" + String(repeating: "1,", count: 21_000) + "1]") == nil)
    }

    @Test func textThatIsNotUTF8IsRefused() {
        let bytes: [UInt8] = [0x22, 0xff, 0x22]
        #expect(bytes.withUnsafeBytes { JSONParser.value(of: $0) } == nil)
    }

    @Test func whatIsWrittenIsReadBack() {
        let value: JSON = [
            "q\"\\\u{1}\u{1f}\n": "é😀", "n": .integer(.min), "a": .array([.null, .boolean(true), .number(0.5), [:]]),
        ]
        #expect(value.bytes.withUnsafeBytes { JSONParser.value(of: $0) } == value)
    }

    /// Swift takes minutes to compare a megabyte of combining marks.
    @Test func longRunsOfCombiningCharactersAreRefused() throws {
        let marks = String(repeating: "\u{301}", count: 15) + String(repeating: "\u{316}", count: 15)
        #expect(JSONParser.value(of: #"["a\#(marks)b\#(marks)"]"#) != nil)
        #expect(JSONParser.value(of: #"["a\#(marks)\#u{301}"]"#) == nil)
        #expect(JSONParser.value(of: #"["a\#(marks)\u0301"]"#) == nil)
        #expect(HeaderParameters("form-data; a\(marks)=b") != nil)
        #expect(HeaderParameters("form-data; a\(marks)\(marks)=b") == nil)
        #expect(FormFields("q=a\(marks)")["q"]?.unicodeScalars.count == 31)
        #expect(FormFields("q=a\(marks)%CC%81")["q"] == nil)
    }

    @Test(arguments: [
        ("q=a", "a"), ("x&q=a+b%20c%c3%a9&q=d", "a b cé"), ("q", ""), ("Q=a&%71=b", nil), ("q=%", "%"), ("q=%ff", nil),
        ("q=a=b%26", "a=b&"), ("", nil),
    ])
    func fieldsOfFormsAreFound(form: String, value: String?) {
        #expect(FormFields(form)["q"] == value)
    }

    /// By bytes: other spellings of a name are other names.
    @Test func membersAreFoundByTheBytesOfTheirNames() throws {
        let json = try #require(JSONParser.value(of: #"{"a":1,"e\#u{301}":3}"#))
        #expect(json["a"]?.integer == 1)
        #expect(json["\u{e9}"] == nil)
        #expect(json["e\u{301}"]?.integer == 3)
    }

    /// Foundation must read all JSON that this parser accepts, as the same value, which must survive a round trip.
    @Test func damagedJSONIsReadRightOrRefused() {
        var fuzz = Fuzz()
        let seed = fuzz.seed
        let sound = Array(
            #"{"fileCount":1,"files":[{"fileName":"a\u00e9\n.jpg","totalSize":19232,"md5":"9e10","path":null,"x":-1.5e2}]}"#
                .utf8)
        for run in 0..<Fuzz.runs {
            let bytes = fuzz.mutated(sound, tokens: ["\"", "\\u", "\\ud83d", "{", "]", ",", "1e400", "\u{0}", "-"])
            guard let ours = bytes.withUnsafeBytes({ JSONParser.value(of: $0) }) else { continue }
            let theirs = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            let isSame = theirs.map { Self.isSame(ours, $0) } ?? false
            #expect(isSame, "run \(run), seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
            #expect(ours.bytes.withUnsafeBytes { JSONParser.value(of: $0) } == ours, "run \(run), seed \(seed)")
        }
    }

    /// Whether Foundation read the same value. Of several members with one name, Foundation may have taken any.
    private static func isSame(_ ours: JSON, _ theirs: Any) -> Bool {
        switch ours {
        case .null: return theirs is NSNull
        case .boolean(let value): return (theirs as? NSNumber)?.boolValue == value
        case .integer(let number): return (theirs as? NSNumber)?.int64Value == number
        case .number(let number):
            // Foundation reads some numbers as decimal fractions, and rounds them once more.
            return (theirs as? NSNumber).map { abs($0.doubleValue - number) <= number.magnitude.ulp } ?? false
        case .string(let text): return (theirs as? String).map { $0.utf8.elementsEqual(text.utf8) } ?? false
        case .array(let values):
            guard let theirs = theirs as? [Any], theirs.count == values.count else { return false }
            return zip(values, theirs).allSatisfy { isSame($0, $1) }
        case .object(let members):
            let byName = Dictionary(grouping: members, by: \.name)
            guard let theirs = theirs as? [String: Any], theirs.count == byName.count else { return false }
            return byName.allSatisfy { name, members in
                theirs[name].map { value in members.contains { isSame($0.value, value) } } ?? false
            }
        }
    }

    private static func object(_ json: JSON) -> NSObject {
        switch json {
        case .null: NSNull()
        case .boolean(let value): NSNumber(value: value)
        case .integer(let number): NSNumber(value: number)
        case .number(let number): NSNumber(value: number)
        case .string(let text): NSString(string: text)
        case .array(let values): NSArray(array: values.map(object))
        case .object(let members):
            NSDictionary(dictionary: Dictionary(uniqueKeysWithValues: members.map { ($0.name, object($0.value)) }))
        }
    }

    // MARK: Multipart

    private static let payload = Array(TestServer.content(300))
    private static let body =
        Array("preamble\r\n".utf8) + Array(TestServer.multipart(Data(payload))) + Array("epilogue".utf8)

    private static func parse(_ body: [UInt8], length: Int, _ fuzz: inout Fuzz) -> [UInt8]? {
        parse(body, lengths: [length], &fuzz)?[0]
    }

    /// Feeds the body to the parser in pieces of random size. Returns the payloads; nil if the parser refuses the body.
    private static func parse(_ body: [UInt8], lengths: [Int], _ fuzz: inout Fuzz) -> [[UInt8]]? {
        let type = "multipart/form-data; boundary=\"\(TestServer.boundary)\""
        do {
            var parser = try SectionParser(contentType: type, name: "sectionFile", lengths: lengths)
            var payloads = lengths.map { _ in [UInt8]() }
            var rest = body[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...400, using: &fuzz))
                rest = rest.dropFirst(piece.count)
                try parser.parse(ByteBuffer(bytes: piece)) { payloads[$0] += Array($1.readableBytesView) }
            }
            try parser.finish()
            return payloads
        } catch {
            return nil
        }
    }

    /// A payload that the parser accepts has the announced length and ends at a boundary, however damaged the body is.
    @Test func damagedMultipartIsReadRightOrRefused() {
        var fuzz = Fuzz()
        let seed = fuzz.seed
        var accepted = 0
        let end = Array("\r\n--\(TestServer.boundary)--".utf8)
        for run in 0..<Fuzz.runs {
            let body = fuzz.mutated(
                Self.body,
                tokens: ["\r\n", "--", "\r\n--\(TestServer.boundary)", "--\(TestServer.boundary)--", "\0", "\""])
            let length = Int.random(in: 0..<20, using: &fuzz) == 0 ? Int.random(in: 0...310, using: &fuzz) : 300
            guard let payload = Self.parse(body, length: length, &fuzz) else { continue }
            accepted += 1
            #expect(payload.count == length, "run \(run), seed \(seed)")
            #expect(body.firstRange(of: payload + end) != nil, "run \(run), seed \(seed)")
        }
        #expect(accepted > 0, "seed \(seed)")
    }

    /// Every part that the parser accepts has its announced length and ends at a boundary, however damaged the body is.
    @Test func damagedPartsAreReadRightOrRefused() {
        var fuzz = Fuzz()
        let seed = fuzz.seed
        var accepted = 0
        let whole = TestServer.multipart([Data(Self.payload.prefix(100)), Data(Self.payload.dropFirst(100))])
        let end = Array("\r\n--\(TestServer.boundary)".utf8)
        for run in 0..<Fuzz.runs {
            let body = fuzz.mutated(
                Array(whole),
                tokens: ["\r\n", "--", "\r\n--\(TestServer.boundary)", "--\(TestServer.boundary)--", "\0"])
            guard let parts = Self.parse(body, lengths: [100, 200], &fuzz) else { continue }
            accepted += 1
            #expect(parts.map(\.count) == [100, 200], "run \(run), seed \(seed)")
            for part in parts { #expect(body.firstRange(of: part + end) != nil, "run \(run), seed \(seed)") }
        }
        #expect(accepted > 0, "seed \(seed)")
    }

    @Test func aGigabyteOfPartHeaderIsRefusedEarly() throws {
        var parser = try SectionParser(
            contentType: "multipart/form-data; boundary=b", name: "sectionFile", lengths: [10])
        _ = try parser.payload(in: ByteBuffer(string: "--b\r\n"))
        var taken = 0
        #expect(throws: Refusal.self) {
            while taken < 1 << 30 {
                _ = try parser.payload(in: ByteBuffer(repeating: 0x61, count: 1000))
                taken += 1000
            }
        }
        #expect(taken < 20_000)
    }

    // MARK: Header fields

    @Test(arguments: [
        "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"",
        "multipart/mixed; boundary=a", "multipart/form-data; boundary=a; boundary=b",
        "multipart/form-data; boundary=\"a\r\nb\"", "multipart/form-data; boundary=\"a \"",
        "multipart/form-data; boundary=" + String(repeating: "a", count: 71), "multipart/form-data; boundary=\"a\"x",
        "multipart/form-data; boundary=é",
    ])
    func brokenBoundariesAreRefused(type: String) {
        #expect(MultipartBoundary(contentType: type) == nil)
    }

    @Test func damagedHeaderFieldsNeverYieldABrokenBoundary() {
        var fuzz = Fuzz()
        let seed = fuzz.seed
        let sound = Array(#"multipart/form-data; charset=utf-8; boundary="a\"b'c"; x=y"#.utf8)
        for run in 0..<Fuzz.runs {
            let bytes = fuzz.mutated(sound, tokens: ["\"", "\\", ";", "=", "boundary=", "\r\n", " "])
            let field = String(decoding: bytes, as: UTF8.self)
            if let boundary = MultipartBoundary(contentType: field)?.text {
                #expect((1...70).contains(boundary.utf8.count), "run \(run), seed \(seed)")
                #expect(boundary.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "run \(run), seed \(seed)")
            }
            _ = FileBlock.list(field)
            _ = MediaType(field)
        }
    }

    // MARK: Times

    @Test(
        arguments: [
            (JSON.integer(1_795_253_400), 1_795_253_400), (.integer(1_795_253_400_123), 1_795_253_400),
            (.string("1795253400123"), 1_795_253_400), (.string("2026-11-21T09:30:00.123Z"), 1_795_253_400),
            (.string("2026-11-21 09:30:00"), 1_795_253_400), (.string("2026-11-21T11:30:00+02:00"), 1_795_253_400),
            (.integer(-5), -5), (.integer(.max), nil), (.number(-1e300), nil), (.string("1e20"), nil),
        ] as [(JSON, Int64?)])
    func timesAreReadInManyForms(json: JSON, seconds: Int64?) throws {
        #expect(try #require(LenientTime(json)).seconds == seconds)
    }

    @Test(
        arguments: [
            .boolean(true), .array([]), [:], "", "inf", "1e999", "2026-11-21", "2026-00-21 09:30:00",
        ] as [JSON])
    func whatIsNoTimeIsNone(json: JSON) {
        #expect(LenientTime(json) == nil)
    }

    // MARK: Paths

    @Test(arguments: [
        ("a\u{7}b", "a_b"), ("a\u{9B}b", "a_b"), ("a\u{202E}gpj.exe", "a_gpj.exe"), ("\u{1F468}\u{200D}\u{1F469}", nil),
    ])
    func charactersThatControlATerminalGo(name: String, stored: String?) {
        #expect(SafePath(path: nil, fileName: name).name == stored ?? name)
    }

    @Test func noPathLeadsOut() {
        var fuzz = Fuzz()
        let seed = fuzz.seed
        let sound = Array("trip/Straße/IMG 0001.jpeg".utf8)
        for run in 0..<Fuzz.runs {
            let tokens = ["../", "/", "..", ".", "\0", "\r\n", String(repeating: "ä", count: 200), "/././"]
            let text = String(decoding: fuzz.mutated(sound, tokens: tokens), as: UTF8.self)
            let path = SafePath(path: text, fileName: "a.jpg")
            for name in path.folders + [path.name] {
                let isSafe =
                    !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255 && !name.utf8.contains(0x2f)
                    && name.utf8.allSatisfy { $0 >= 0x20 }
                #expect(isSafe, "run \(run), seed \(seed): \(text.debugDescription)")
            }
        }
    }
}

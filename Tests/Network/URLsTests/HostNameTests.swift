import Testing

@testable import URLs

struct PunycodeTests {
    /// One example for each script from RFC 3492, section 7.1, and some registered names.
    @Test(arguments: [
        ("bücher", "bcher-kva"), ("münchen", "mnchen-3ya"), ("straße", "strae-oqa"), ("例え", "r8jz45g"),
        ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"), ("почемужеонинеговорятпорусски", "b1abfaaepdrnnbgefbadotcwatmq2g4l"),
        ("ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"),
        ("安室奈美恵-with-super-monkeys", "-with-super-monkeys-pc58ag80a8qai00g7n9n"),
        ("ひとつ屋根の下2", "2-u9tlzr9756bt3uc0v"), ("パフィーdeルンバ", "de-jg4avhby1noc0d"), ("ü", "tda"), ("a", "a-"),
    ])
    func `labels are encoded as RFC 3492 has them`(label: String, encoded: String) {
        #expect(Punycode.encode(label) == encoded)
    }
}

/// Names with the results of this code and of libidn2 2.3.3 (`idn2_lookup_u8` with `IDN2_NFC_INPUT` and
/// `IDN2_NONTRANSITIONAL`). nil means refused. docs/rooms/network-and-watch.md explains the differences.
struct HostNameTests {
    /// Names on which both agree.
    static let alike: [(name: String, ascii: String?)] = [
        // ASCII.
        ("example", "example"), ("Example.COM", "example.com"), ("my_host", "my_host"), ("STRASSE", "strasse"),
        ("xn--bcher-kva", "xn--bcher-kva"), ("XN--BCHER-KVA", "xn--bcher-kva"),
        ("xn--strae-oqa", "xn--strae-oqa"), (String(repeating: "a", count: 63), String(repeating: "a", count: 63)),
        (String(repeating: "a", count: 64), nil),
        // Latin letters with marks, and in upper case.
        ("bücher", "xn--bcher-kva"), ("Bücher.example", "xn--bcher-kva.example"), ("BÜCHER", "xn--bcher-kva"),
        ("ä.ö.ü", "xn--4ca.xn--nda.xn--tda"), ("straße", "xn--strae-oqa"), ("fuß.example", "xn--fu-hia.example"),
        ("ıstanbul", "xn--stanbul-qfb"), ("\u{212B}.example", "xn--5ca.example"), ("\u{212A}.example", "k.example"),
        ("ü--a", "xn----a-goa"), ("ü_a", "xn--_a-wka"),
        (
            String(repeating: "ü", count: 57), "xn--tda" + String(repeating: "a", count: 56)
        ),
        (String(repeating: "ü", count: 58), nil), (String(repeating: "ü", count: 100), nil),
        // Greek with both sigmas, Cyrillic, Georgian.
        ("σ.gr", "xn--4xa.gr"), ("ς.gr", "xn--3xa.gr"), ("Σ.gr", "xn--4xa.gr"), ("βόλος.com", "xn--nxasmm1c.com"),
        ("ΟΔΟΣ.gr", "xn--pxavbq.gr"), ("ελλάδα.gr", "xn--hxakic4aa.gr"), ("ΕΛΛΆΔΑ.gr", "xn--hxakic4aa.gr"),
        ("пример.рф", "xn--e1afmkfd.xn--p1ai"), ("ПРИМЕР.РФ", "xn--e1afmkfd.xn--p1ai"),
        ("ქართული", "xn--lododh2atk"), ("\u{1C90}", "xn--lod"),
        // Arabic and Hebrew.
        ("مثال.إختبار", "xn--mgbh0fb.xn--kgbechtv"), ("اختبار١٢", "xn--mgbachtv05aia"),
        ("אבג.example", "xn--4dbcd.example"),
        // Scripts of Asia.
        ("例え.テスト", "xn--r8jz45g.xn--zckzah"), ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
        ("例え．テスト", "xn--r8jz45g.xn--zckzah"), ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"), ("ー.jp", "xn--wek.jp"),
        ("が.jp", "xn--v8j.jp"), ("한국", "xn--3e0b707e"), ("ไทย", "xn--o3cw4h"), ("देवनागरी", "xn--31b3ag7aw9cq4c"),
        ("தமிழ்", "xn--rlcus7b3d"), ("𠮷", "xn--7l3i"),
        // Emoji and joiners without a letter to join.
        ("❤", nil), ("i❤.ws", nil), ("🙂.example", nil), ("€.example", nil), ("1\u{FE0F}\u{20E3}.example", nil),
        ("a\u{200D}b", nil), ("a\u{200C}b", nil), ("👩\u{200D}👩\u{200D}👧.example", nil),
        // Not host names.
        ("½", nil), ("\u{E000}", nil), ("\u{378}", nil), ("\u{300}a", nil),
    ]

    /// Names on which the two differ.
    static let different: [(name: String, ascii: String?, libidn2: String?)] = [
        // A trailing dot is another spelling of the same host.
        ("example.com.", "example.com", "example.com."),
        // Unicode 15.1 changed the mapping of the capital sharp s, and with it the answer of later versions of libidn2.
        ("STRA\u{1E9E}E", "xn--strae-oqa", "strasse"),
        // Decomposed characters; composing them needs Unicode tables.
        ("bu\u{308}cher", nil, "xn--bcher-kva"), ("か\u{3099}.jp", "xn--u8jui.jp", "xn--v8j.jp"),
        ("\u{1112}\u{1161}\u{11AB}국", "xn--hqd2n7hi018c", "xn--3e0b707e"),
        // Compatibility characters: libidn2 maps some to other characters and drops the rest.
        ("ｅｘ.example", nil, "ex.example"), ("ﬁ.example", nil, "fi.example"), ("②", nil, "2"),
        ("127.0.0.１", nil, "127.0.0.1"),
        ("İstanbul", nil, "xn--istanbul-o0e"), ("a\u{AD}b", nil, "ab"), ("a\u{FE0F}b", nil, "ab"),
        // Characters that are valid only beside certain other characters.
        ("क\u{94D}\u{200D}ष", nil, "xn--11b2ezcw70k"), ("l·l", nil, "xn--ll-0ea"), ("a·b", nil, "xn--ab-0ea"),
        // Names that no registry accepts, but a home name server may know.
        ("r3---sn.example", "r3---sn.example", nil), ("xn--a", "xn--a", nil), ("xn--i-7iq", "xn--i-7iq", nil),
        ("xn--bücher", "xn--xn--bcher-u9a", nil), ("ab--ü", "xn--ab---3ra", nil), ("-ü", "xn----eha", nil),
        ("a١", "xn--a-bqc", nil), ("אבגa", "xn--a-zhcde", nil),
        // A character of Unicode 13, which libidn2 2.3.3 does not know.
        ("\u{30000}", "xn--zn4n", nil),
        // Programs disagree on whether these are names or addresses.
        ("ü.1", nil, "xn--tda.1"), ("ü.0x1", nil, "xn--tda.0x1"),
        // Not host names, for this parser.
        ("a,b", nil, "a,b"), ("a b", nil, "a b"),
    ]

    @Test(arguments: alike)
    func `names that people own are encoded as by libidn2`(name: String, ascii: String?) {
        #expect((try? HostName.canonical(name[...])) == ascii)
    }

    @Test(arguments: different)
    func `names on which libidn2 differs keep their place`(name: String, ascii: String?, libidn2: String?) {
        #expect((try? HostName.canonical(name[...])) == ascii)
        #expect(ascii != libidn2)
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("[2001:DB8:0:0:0:0:0:1]", "[2001:db8::1]"),
        ("[::ffff:10.0.0.1]", "[::ffff:10.0.0.1]"),
        ("[10.0.0.1]", nil), ("[::1", nil), ("[]", nil), ("[::1]x", nil), ("[\u{301}::1]", nil), ("127.1", nil),
        ("127.0.0.01", nil), ("1.2.3.256", nil), ("0x7f.0.0.1", nil),
    ])
    func `addresses have one spelling`(host: String, canonical: String?) {
        #expect((try? HostName.canonical(host[...])) == canonical)
    }
}

import Testing

@testable import OutboxReceiver

/// What a search by name finds.
@Suite struct NamePatternTests {
    @Test(arguments: [
        ("beach.jpg", "beach.jpg"), ("BEACH.jpg", "trip/beach.JPG"), ("trip/beach.jpg", "2026/Trip/beach.jpg"),
        ("/trip/./beach.jpg", "trip/beach.jpg"), ("*", "trip/beach.jpg"), ("*.jpg", ".jpg"), ("b*h*g", "beach.jpg"),
        ("*a*a*", "banana"), ("trip/*", "trip/beach.jpg"), ("2*/*/b*", "2026/trip/beach.jpg"),
        ("DSC_004?.JPG", "DSC_0042.jpg"), ("DSC_[0-9]*.jpg", "dsc_0042.jpg"), ("[a-c]each", "Beach"),
        ("[A-C]each", "beach"), ("[!a-b]at", "cat"), ("[^a-b]at", "cat"), ("[]x]", "]"), ("[a-]", "-"),
        ("?", "é"), ("??", "🏖é"), ("*?", "é"), ("[à-ü].jpg", "é.jpg"), ("é*", "été.jpg"),
        ("IMG[1].jpg", "img[1].jpg"), ("IMG[1].jpg", "img1.jpg"), ("a[b", "A[B"), ("what?.txt", "what?.txt"),
        (" ", " "), ("a\\b", "a\\b"),
    ])
    func finds(pattern: String, path: String) throws {
        #expect(try #require(NamePattern(pattern)).matches(path))
    }

    @Test(arguments: [
        ("each.jpg", "beach.jpg"), ("beach", "beach.jpg"), ("beach.jpg", "beach.jpg/x"),
        ("ip/beach.jpg", "trip/beach.jpg"), ("trip/beach.jpg", "beach.jpg"), ("trip", "trip/beach.jpg"),
        ("*/beach.jpg", "beach.jpg"), ("t*.jpg", "trip/beach.jpg"), ("trip?beach.jpg", "trip/beach.jpg"),
        ("É.jpg", "é.jpg"), ("??", "é"), ("*??", "é"), ("[!a-b]at", "Bat"), ("[z-a]", "m"), ("[b-]", "c"),
        ("*.jpg", "beach.jpeg"), ("b*h", "beach.jpg"), ("?", ""), ("[k]", "\u{212a}"),
    ])
    func doesNotFind(pattern: String, path: String) throws {
        #expect(!(try #require(NamePattern(pattern)).matches(path)))
    }

    @Test(arguments: ["", "/", "//", ".", "./"])
    func aTextWithoutANameIsNoPattern(text: String) {
        #expect(NamePattern(text) == nil)
    }

    @Test func manyWildcardsTakeNoTime() throws {
        let pattern = try #require(NamePattern(String(repeating: "*a", count: 120) + "*b"))
        #expect(!pattern.matches(String(repeating: "a", count: 240)))
    }

    @Test func aContentIsFoundByEachOfItsPaths() throws {
        let md5 = Hex128.random()
        var content = Content(
            key: ContentKey(user: "a", md5: md5, size: 1), token: .random(), object: ObjectName(md5: md5, variant: 0),
            name: "beach.jpg", type: "image/jpeg")
        let added = [
            content.add(paths: ["beach.jpg"]), content.add(paths: ["trip/beach.jpg", "trip/beach (2).jpg"]),
            content.add(paths: ["trip/beach.jpg", "copies/sea.jpg"]), content.add(paths: ["trip/beach.jpg"]),
        ]
        #expect(added == [false, true, true, false])
        #expect(content.paths.all == ["trip/beach.jpg", "trip/beach (2).jpg", "copies/sea.jpg"])
        for name in ["beach.jpg", "trip/beach.jpg", "beach (2).jpg", "SEA.jpg"] {
            #expect(try #require(NamePattern(name)).matches(content), "\(name)")
        }
        #expect(!(try #require(NamePattern("trip/sea.jpg")).matches(content)))
    }

    @Test func pathsThatDifferOnlyInTheirBytesAreDifferent() {
        var paths = ArrivalPaths()
        let added = [paths.add(["\u{e9}"]), paths.add(["e\u{301}"]), paths.add(["\u{e9}"])]
        #expect(added == [true, true, false])
    }

    @Test func theEarliestOfTooManyPathsAreForgotten() {
        var paths = ArrivalPaths()
        for number in 0..<1000 { _ = paths.add(["path \(number)"]) }
        _ = paths.add((0..<2000).map { "path \($0)" })
        #expect(paths.text.utf8.count <= ArrivalPaths.longest)
        #expect(paths.all.last == "path 1999")
        #expect(paths.all.count > 500)
        #expect(ArrivalPaths(text: paths.text) == paths)
    }
}

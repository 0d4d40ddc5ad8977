import TestSupport
import Testing

@testable import Avatars

struct `Places of random URLs` {
    /// Pieces with a meaning in URLs, directories or the mapping itself.
    private static let pieces = [
        "/", "/", "/", "/", "//", ".", ".", "..", "/./", "/../", "%2e", "%2E", ".%2e", "%", "%2", "%25", "%2525", "25",
        "2F", "2f", "3F", "3f", "%2f", "%2F", "%252F", "%25252F", "%3f", "%3F", "%253F", "%25253F", "?", "?", "#", "\\",
        "%00", "%0a", "%5c", "%index", "%empty", "%file", "~", "~0123abcd", "_80", "_", ":", "@", " ", "a",
        "b",
        "A", "ü", "u\u{308}", "🙂", "|", "\"", "%C3%BC", "%c3%bc", ".png", ".tmp", ".records", ".styles", "current.jpg",
        "wanted.txt", String(repeating: "x", count: 90), String(repeating: "y", count: 191),
    ]
    private static let hosts = [
        "h", "H", "h.", "h_80", "h_8080", "h:80", "h:8080", "h:443", "h:", "current.jpg", "wanted.txt", "a@h", "[::1]",
        "[0::1]", "127.0.0.1", "ü", "xn--tda", "..", ".tmp", "h_80:80", "",
    ]

    private struct Place: Hashable { let parts: [String] }

    private static func url(_ random: inout SeededRandom) -> String {
        let host = hosts.randomElement(using: &random) ?? "h"
        var url =
            (Bool.random(using: &random) ? "http://" : "HTTPS://")
            + (Int.random(in: 0..<4, using: &random) == 0 ? host : "h")
        let count = Int.random(in: 0...6, using: &random)
        if count > 0 && Int.random(in: 0..<10, using: &random) > 0 { url += "/" }
        for _ in 0..<count {
            if Int.random(in: 0..<8, using: &random) > 0 {
                url += pieces.randomElement(using: &random) ?? ""
            } else {
                url += String(decoding: random.bytes(Int.random(in: 1...3, using: &random)), as: UTF8.self)
            }
        }
        return url
    }

    @Test(arguments: [1, 2])
    func `nothing leaves the directory, and no two URLs share a file`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var known: [Place: String] = [:]
        var taken = 0
        for _ in 0..<12_000 {
            let text = Self.url(&random)
            guard let address = try? AvatarAddress(text) else { continue }
            taken += 1
            Self.checkNames(of: address, text)
            // Parsing the canonical URL again gives the same URL and place.
            let again = try AvatarAddress(address.url)
            if again.url != address.url || again.place != address.place || again != address {
                Issue.record("\(text) is \(address.url), and that is \(again.url)")
            }
            let identity = String(address.url.drop { $0 != "/" })
            let place = Place(parts: address.place)
            if let other = known.updateValue(identity, forKey: place), other != identity {
                Issue.record("\(other) and \(identity) share \(address.place)")
            }
        }
        #expect(taken > 8_000)
        #expect(known.count > 6_000)
    }

    private static func checkNames(of address: AvatarAddress, _ text: String) {
        if address.place.count < 2 { Issue.record("\(text) has no file of its own") }
        for part in address.place {
            let bytes = Array(part.utf8)
            let isName =
                !bytes.isEmpty && bytes.count <= 200 && part != "." && part != ".."
                && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
            if !isName { Issue.record("\(text) has the part \(part)") }
        }
        let top = address.place.first ?? ""
        if top.hasPrefix(".") || top == "current.jpg" || top == "wanted.txt" { Issue.record("\(text) is at \(top)") }
        if address.place.joined(separator: "/").utf8.count > AvatarAddress.longestPlace {
            Issue.record("\(text) has too long a place")
        }
    }

    /// Parts that differ only after the cut get different hashes.
    @Test func `over-long parts are told apart`() throws {
        let head = String(repeating: "x", count: 250)
        let places = try (0..<5000).map { try AvatarAddress("http://h/\(head)\($0)").place }
        #expect(Set(places.map(Place.init)).count == 5000)
    }

    @Test func `addresses with one hash are still two addresses`() throws {
        let (one, two) = try AvatarAddress.twoAtOnePlace
        #expect(one.place == two.place)
        #expect(one != two)
    }
}

extension AvatarAddress {
    /// Two addresses whose last parts have the same beginning, and MD5s that both begin with 49599212.
    static var twoAtOnePlace: (AvatarAddress, AvatarAddress) {
        get throws {
            let head = String(repeating: "x", count: 250)
            return (try AvatarAddress("http://h/\(head)26607"), try AvatarAddress("http://h/\(head)154991"))
        }
    }
}

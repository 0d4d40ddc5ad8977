import TestSupport
import Testing

@testable import Remotes

@Suite("XML of S3")
struct XMLElementTests {
    private func parse(_ text: String) -> XMLElement? { XMLElement(Array(text.utf8)) }

    @Test("reads elements, attributes, namespaces, entities and comments")
    func reads() throws {
        let root = try #require(
            parse(
                """

                \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>
                <!-- a > b --><s3:Result xmlns:s3='http://a' b = "x/>">
                  <s3:A>1 &lt; 2 &amp;&#38;&#x26; &quot;x&apos;</s3:A><B/><B >two</B ><C><![CDATA[<raw>&amp;]]></C>
                  <D><?pi?>a<!-- - -->b</D>
                </s3:Result>
                <!-- the end -->

                """.replacing("\n\u{FEFF}", with: "\n").replacing(" b = ", with: " b=")))
        #expect(root.name == "Result")
        #expect(root["A"] == "1 < 2 &&& \"x'")
        #expect(root.children.map(\.name) == ["A", "B", "B", "C", "D"])
        #expect(root["B"] == "")
        #expect(root["C"] == "<raw>&amp;")
        #expect(root["D"] == "ab")
        #expect(root["E"] == nil)
    }

    @Test("accepts a byte order mark, and blanks before the declaration")
    func start() {
        #expect(parse("\u{FEFF}<a/>")?.name == "a")
        #expect(parse("  \n \n<?xml version=\"1.0\"?>\n<a/>")?.name == "a")
    }

    @Test(
        "refuses what is not well-formed",
        arguments: [
            "", " ", "a", "<", "<a", "<a>", "<a/", "<a></b>", "<a/><b/>", "<a/>x", "<a><b></a></b>", "<a b>",
            "<a b=c/>",
            "<a b=\"c>", "<a>&nbsp;</a>", "<a>&amp</a>", "<a>&#xD800;</a>", "<a>&#;</a>", "<a>&#99999999999;</a>",
            "<!DOCTYPE a><a/>",
            "<a><!-- </a>", "<a><![CDATA[</a>", "</a>", "< a/>", "<a>&", "<?xml", "<!--", "<a>&#+1;</a>",
        ])
    func refuses(text: String) {
        #expect(parse(text) == nil)
    }

    @Test("refuses text that is not UTF-8, and elements nested too deep")
    func limits() {
        #expect(XMLElement(Array("<a>".utf8) + [0xFF] + Array("</a>".utf8)) == nil)
        let deep = { String(repeating: "<a>", count: $0) + String(repeating: "</a>", count: $0) }
        #expect(parse(deep(16)) != nil)
        #expect(parse(deep(17)) == nil)
        #expect(parse(deep(10_000)) == nil)
    }

    @Test("survives any change of a document", arguments: 0..<20)
    func survives(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let document = Array("<?xml?><a x=\"1\"><b>&lt;&#65;</b><!-- c --><![CDATA[d]]></a>".utf8)
        for cut in 0...document.count { _ = XMLElement(Array(document[..<cut])) }
        for _ in 0..<500 {
            var changed = document
            for byte in random.bytes(3) { changed[Int(byte) % changed.count] = random.bytes(1)[0] }
            let piece = random.bytes(2).map { Int($0) % changed.count }.sorted()
            changed.removeSubrange(piece[0]..<piece[1])
            _ = XMLElement(changed)
        }
    }

    @Test("escapes text")
    func escapes() {
        #expect(XMLElement.escaped("a<b>&\"c'") == "a&lt;b&gt;&amp;&quot;c'")
    }
}

@Suite("S3 messages")
struct S3MessagesTests {
    private func parse(_ text: String) throws -> XMLElement { try #require(XMLElement(Array(text.utf8))) }

    @Test("reads pages of parts")
    func parts() throws {
        let page = try #require(
            S3Messages.PartList(
                try parse(
                    """
                    <ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>b</Bucket>
                    <PartNumberMarker>0</PartNumberMarker><NextPartNumberMarker>7</NextPartNumberMarker>
                    <IsTruncated>true</IsTruncated>
                    <Part><PartNumber>2</PartNumber><ETag>&quot;aa&quot;</ETag><Size>5242880</Size></Part>
                    <Part><PartNumber>7</PartNumber><ETag>&amp;quot;bb&amp;quot;</ETag><Size>1</Size>
                    <ChecksumSHA256>cc=</ChecksumSHA256></Part></ListPartsResult>
                    """)))
        #expect(page.parts.map(\.number) == [2, 7])
        #expect(page.parts.map(\.size) == [5_242_880, 1])
        #expect(page.parts.map(\.receipt.text) == ["aa", "bb sha256=cc="])
        #expect(page.next == 7)
    }

    @Test("takes the last part's number for a missing marker, and none on the last page")
    func markers() throws {
        let part = "<Part><PartNumber>3</PartNumber><ETag/></Part>"
        let more = try parse("<ListPartsResult><IsTruncated>True</IsTruncated>\(part)</ListPartsResult>")
        #expect(S3Messages.PartList(more)?.next == 3)
        #expect(S3Messages.PartList(more)?.parts.first?.receipt.tag.text == "")
        let last = try parse(
            "<ListPartsResult><IsTruncated>false</IsTruncated><NextPartNumberMarker>9</NextPartNumberMarker></ListPartsResult>"
        )
        #expect(S3Messages.PartList(last)?.next == nil)
    }

    @Test(
        "refuses other documents",
        arguments: [
            "<Error/>", "<ListPartsResult><IsTruncated/><Part><PartNumber>x</PartNumber></Part></ListPartsResult>",
        ])
    func refuses(text: String) throws {
        #expect(S3Messages.PartList(try parse(text)) == nil)
        #expect(S3Messages.uploadID(in: try parse(text)) == nil)
    }

    @Test("reads the id of an upload")
    func uploadID() throws {
        let text = "<InitiateMultipartUploadResult><UploadId>a/b</UploadId></InitiateMultipartUploadResult>"
        #expect(S3Messages.uploadID(in: try parse(text)) == "a/b")
        let other = "<InitiateMultipartUpload><UploadId>2</UploadId></InitiateMultipartUpload>"
        #expect(S3Messages.uploadID(in: try parse(other)) == "2")
        let empty = "<InitiateMultipartUploadResult><UploadId/></InitiateMultipartUploadResult>"
        #expect(S3Messages.uploadID(in: try parse(empty)) == nil)
    }

    @Test("writes the completion with quoted tags and checksums, in order")
    func completion() throws {
        let bytes = S3Messages.completion([PartReceipt("aa"), PartReceipt("b<b sha256=cc=")])
        let root = try #require(XMLElement(bytes))
        #expect(root.name == "CompleteMultipartUpload")
        #expect(root.children.map { $0["PartNumber"] } == ["1", "2"])
        #expect(root.children.map { $0["ETag"] } == ["\"aa\"", "\"b<b\""])
        #expect(root.children.map { $0["ChecksumSHA256"] } == [nil, "cc="])
    }

    @Test(
        "reads tags as servers write them",
        arguments: [
            ("\"aa\"", "aa"), ("aa", "aa"), ("&quot;aa&quot;", "aa"), ("W/\"aa\"", "aa"), ("", ""), ("\"\"", ""),
            (" \"a a\" ", "aa"),
            (String(repeating: "a", count: 257), ""),
        ])
    func tags(written: String, text: String) {
        #expect(ETag(written).text == text)
    }

    @Test("knows the tag of a multipart upload from its parts'")
    func multipartTag() {
        // MD5 of the two digests' bytes, by md5sum.
        let parts = [ETag("9e107d9d372bb6826bd81d3542a419d6"), ETag("\"D41D8CD98F00B204E9800998ECF8427E\"")]
        #expect(ETag(ofParts: parts)?.text == "2ef6d3eebb6b340a5667d4e455f64ce3-2")
        #expect(ETag(ofParts: [ETag("x")]) == nil)
        #expect(ETag(ofParts: []) == nil)
        #expect(!ETag("").matches(ETag("")))
        #expect(ETag("AA").matches(ETag("\"aa\"")))
    }
}

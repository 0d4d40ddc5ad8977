import Testing
import URLs
import UploadCore

@testable import Remotes

/// A request and its signature by another program.
struct SignatureVector: Sendable, CustomTestStringConvertible {
    var method: String
    var url: String
    var headers: [(name: String, value: String)]
    var body: String
    var hasToken: Bool
    var region: String
    var signs: String
    var signature: String

    init(
        _ method: String, _ url: String, _ headers: [(String, String)] = [], body: String = "", hasToken: Bool = false,
        region: String = "eu-central-1", signs: String, _ signature: String
    ) {
        self.method = method
        self.url = url.hasPrefix("@") ? "https://bucket.s3.eu-central-1.amazonaws.com" + url.dropFirst() : url
        self.headers = headers.map { (name: $0.0, value: $0.1) }
        self.body = body
        self.hasToken = hasToken
        self.region = region
        self.signs = signs
        self.signature = signature
    }

    var testDescription: String { "\(method) \(url)" }
}

@Suite("SigV4")
struct SigV4Tests {
    private static let exampleSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    private static let exampleID = "AKIAIOSFODNN7EXAMPLE"

    private func authorization(
        _ vector: SignatureVector, _ signer: SigV4, at time: SigV4.Time, id: String, secret: String,
        more: [(String, String)]
    ) throws -> String {
        let url = try #require(WebURL(vector.url))
        let payload = BodyDigests(of: Array(vector.body.utf8), .sha256).sha256?.hexadecimal ?? ""
        let headers = vector.headers + more.map { (name: $0.0, value: $0.1) }
        let request = SigV4.Request(method: vector.method, url: url, headers: headers, payload: payload)
        let key = signer.signingKey(secret: secret, day: time.day)
        return signer.authorization(request, at: time, accessKeyID: id, key: key)
    }

    /// AWS, "Authenticating Requests: Using the Authorization Header", examples.
    @Test(
        "signs the examples of the S3 documentation",
        arguments: [
            SignatureVector(
                "GET", "https://examplebucket.s3.amazonaws.com/test.txt", [("Range", "bytes=0-9")],
                signs: "host;range;x-amz-content-sha256;x-amz-date",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
            SignatureVector(
                "PUT", "https://examplebucket.s3.amazonaws.com/test$file.text",
                [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                body: "Welcome to Amazon S3.",
                signs: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
            SignatureVector(
                "GET", "https://examplebucket.s3.amazonaws.com/?lifecycle",
                signs: "host;x-amz-content-sha256;x-amz-date",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            SignatureVector(
                "GET", "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J",
                signs: "host;x-amz-content-sha256;x-amz-date",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ])
    func documentation(vector: SignatureVector) throws {
        let signer = SigV4(region: "us-east-1")
        let time = SigV4.Time(WallTime(milliseconds: 1_369_353_600_000))
        #expect(time.stamp == "20130524T000000Z")
        let payload = BodyDigests(of: Array(vector.body.utf8), .sha256).sha256?.hexadecimal ?? ""
        let result = try authorization(
            vector, signer, at: time, id: Self.exampleID, secret: Self.exampleSecret,
            more: [("x-amz-content-sha256", payload), ("x-amz-date", time.stamp)])
        #expect(
            result == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                + "SignedHeaders=\(vector.signs), Signature=\(vector.signature)")
    }

    /// The vectors of AWS's aws-sig-v4-test-suite that hold for S3, which normalizes no paths.
    @Test(
        "signs the vectors of AWS's test suite",
        arguments: [
            // get-vanilla
            SignatureVector(
                "GET", "https://example.amazonaws.com/", signs: "host;x-amz-date",
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            // get-vanilla-query-order-key-case
            SignatureVector(
                "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", signs: "host;x-amz-date",
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
            // get-utf8
            SignatureVector(
                "GET", "https://example.amazonaws.com/\u{1234}", signs: "host;x-amz-date",
                "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
            // get-header-value-trim
            SignatureVector(
                "GET", "https://example.amazonaws.com/", [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
                signs: "host;my-header1;my-header2;x-amz-date",
                "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
            // post-vanilla; the same request with a token added after signing is post-sts-header-after
            SignatureVector(
                "POST", "https://example.amazonaws.com/", signs: "host;x-amz-date",
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            // post-sts-header-before
            SignatureVector(
                "POST", "https://example.amazonaws.com/", hasToken: true, signs: "host;x-amz-date;x-amz-security-token",
                "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
            // post-x-www-form-urlencoded
            SignatureVector(
                "POST", "https://example.amazonaws.com/", [("Content-Type", "application/x-www-form-urlencoded")],
                body: "Param1=value1", signs: "content-type;host;x-amz-date",
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
        ])
    func testSuite(vector: SignatureVector) throws {
        let signer = SigV4(region: "us-east-1", service: "service")
        let time = SigV4.Time(WallTime(milliseconds: 1_440_938_160_000))
        let token =
            "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7"
            + "mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d"
            + "+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
        let result = try authorization(
            vector, signer, at: time, id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            more: [("X-Amz-Date", time.stamp)] + (vector.hasToken ? [("X-Amz-Security-Token", token)] : []))
        #expect(
            result == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                + "SignedHeaders=\(vector.signs), Signature=\(vector.signature)")
    }

    /// Signatures by botocore 1.43.
    @Test("signs odd requests as botocore does", arguments: oddVectors)
    func odd(vector: SignatureVector) throws {
        let signer = SigV4(region: vector.region)
        let time = SigV4.Time(WallTime(milliseconds: 1_795_421_109_000))
        let payload = BodyDigests(of: Array(vector.body.utf8), .sha256).sha256?.hexadecimal ?? ""
        var more = [("x-amz-content-sha256", payload), ("x-amz-date", time.stamp)]
        if vector.hasToken { more.append(("x-amz-security-token", "FwoGZXIvYXdzEBYaD//////////wEaDH+/=")) }
        let id = vector.hasToken ? "ASIAIOSFODNN7EXAMPLE" : Self.exampleID
        let result = try authorization(vector, signer, at: time, id: id, secret: Self.exampleSecret, more: more)
        #expect(
            result == "AWS4-HMAC-SHA256 Credential=\(id)/20261123/\(vector.region)/s3/aws4_request, "
                + "SignedHeaders=\(vector.signs), Signature=\(vector.signature)")
    }
}

private let oddVectors = [
    SignatureVector(
        "PUT", "@/a%20b", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "fd174582220ef0433341b1da4082c0f13d2fed604b9e5d9d6bb5acb96d6e2c5f"),
    SignatureVector(
        "PUT", "@/a%2Bb", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "26d98b8d2fd17355af6e6b1ac69f71836a3a1ae3220acdd908a9a569f0140b22"),
    SignatureVector(
        "PUT", "@/%C3%BCmlaut/%E6%97%A5%E6%9C%AC.jpg", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "b59a21fe78230f172fe608133b9420b0b98d8ee78eda16c2404c87a247022f44"),
    SignatureVector(
        "PUT", "@/a//b", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "e2f4f1aba3aafeda6e44f89f53143d22ac0789aa21b73c13e866ca0f3d1dfcce"),
    SignatureVector(
        "PUT", "@/a/./b", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "7bbec7b08d8a990f7d2e108090df026d9cb0610cf93b871713e25c0720466e5a"),
    SignatureVector(
        "PUT", "@/a/../b", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "34e42314e59c48af3f6f17ad8a3f220c3965f8cefa1bd82e1cb529bf8a40307c"),
    SignatureVector(
        "PUT", "@/..", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "ceb1edf83325ec16f25ea991421633d327aedce324f1b77b77b56ad4041217d8"),
    SignatureVector(
        "PUT", "@/~-_.", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "0dd18f58c6ad8f1ec957743646f246d1b618f5b35e5eed1bc533a76ee63fe310"),
    SignatureVector(
        "PUT", "@/%21%27%28%29%2A", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "a2af9cc0eaeead6d4d9408ea292e2949fa9393a50a2de0eb7fc9ec519ea4883c"),
    SignatureVector(
        "PUT", "@/a%2520b", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "e574ec932a1b59bacd1522c6e3e07a20aa8c07736163cac8909ee1329aeb6b8a"),
    SignatureVector(
        "PUT", "@/a%252Fb", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "e117d028bb8ba67158a01dc937eef827954cbd1a96fbbd63f41321011ee4a40b"),
    SignatureVector(
        "PUT", "@/%26%3D%3F%23%3B%3A%40%2C%24", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "4e854369d491bfc1e5b3d8a9a5323c59123172dd0f6a9f1c78ddf1f3207593e6"),
    SignatureVector(
        "PUT", "@/%22%3C%3E%5B%5D%7B%7D%7C%5C%5E%60", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "de3acaec2c5bd0a27e055b525aa1bf455b817e1bac62d3cebf0727de354085dd"),
    SignatureVector(
        "PUT", "@/trailing/", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "f3f0456c2690766a87ed54729a565cd7bb133769fb855b75e5ebb4579e641580"),
    SignatureVector(
        "PUT", "@//leading", [("content-type", "image/jpeg")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "d44a2c4630f8d8fa3062bf85f61caf325fe3b30b07e7a7377f19c6961c28d934"),
    SignatureVector(
        "POST", "@/k?uploads=", [], body: "",
        signs: "host;x-amz-content-sha256;x-amz-date",
        "694c02c91cb6e4a5dc80e5977ee768b6117fab1ef1525f7673ca894482dd1361"),
    SignatureVector(
        "POST", "@/k?uploads", [], body: "",
        signs: "host;x-amz-content-sha256;x-amz-date",
        "694c02c91cb6e4a5dc80e5977ee768b6117fab1ef1525f7673ca894482dd1361"),
    SignatureVector(
        "PUT", "@/k?uploadId=a%2Fb%2Bc%3D%3D&partNumber=10", [("content-md5", "nhB9nTcrtoJr2B01QqQZ1g==")],
        body: "part",
        signs: "content-md5;host;x-amz-content-sha256;x-amz-date",
        "e72c6081675a3bbdb0707dc192826153158219ea9b514867e15e1506e578ca6d"),
    SignatureVector(
        "GET", "@/k?uploadId=x&part-number-marker=1000&max-parts=1000&encoding-type=url", [], body: "",
        signs: "host;x-amz-content-sha256;x-amz-date",
        "838cbb187ac720c46b4a14da586f419710345a276a014a5c727ee3d0f65c0f8f"),
    SignatureVector(
        "GET", "@/?list-type=2&prefix=a%20b%2F&delimiter=%2F&empty=", [], body: "",
        signs: "host;x-amz-content-sha256;x-amz-date",
        "12ef160504b6f6e01335c10d0a9fab83e0cef33129b5d2e19e9d657cf1e7211f"),
    SignatureVector(
        "GET", "@/?b=2&a=2&a=1&A=0", [], body: "",
        signs: "host;x-amz-content-sha256;x-amz-date",
        "042d85712f46b7780fff6248262ed1198dda14805362f36f74af86d371821092"),
    SignatureVector(
        "PUT", "http://127.0.0.1:8333/bucket/k",
        [("x-amz-meta-path", "a%20b"), ("x-amz-meta-path-more", "1"), ("x-amz-meta", "0"), ("if-none-match", "*")],
        body: "x",
        signs: "host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-meta;x-amz-meta-path;x-amz-meta-path-more",
        "fc2246862586afe486908fe7bd663db7c5ee08e95b7c7a4ee00723edeab262b2"),
    SignatureVector(
        "PUT", "http://[::1]:9000/bucket/k", [("content-type", "  text/plain;   charset=utf-8  ")], body: "x",
        signs: "content-type;host;x-amz-content-sha256;x-amz-date",
        "41ef1ec79dce123fe45d09c01e74a4a66dbbf0dde014c520dfaa32a6fab4669f"),
    SignatureVector(
        "PUT", "https://host.example:443/base/path/bucket/k", [], body: "x",
        signs: "host;x-amz-content-sha256;x-amz-date",
        "a3eb22ae9d0e82d1803bd828db1474ce70ced053778ffb0214e055744efc71ce"),
    SignatureVector(
        "PUT", "http://host.example:80/bucket/k", [], body: "x",
        signs: "host;x-amz-content-sha256;x-amz-date",
        "e524cd94c3bbc549e9a6621bf9722fbec1fb20ec9c4f76c4e17bea7a4dddf206"),
    SignatureVector(
        "HEAD", "@/k", [], body: "", hasToken: true,
        signs: "host;x-amz-content-sha256;x-amz-date;x-amz-security-token",
        "7e30ee167001e3e8bc17cfa230ab5aefa8582f5f90130b5fdf4a9cfacdbcaf20"),
    SignatureVector(
        "DELETE", "@/k?uploadId=x", [], body: "", hasToken: true, region: "auto",
        signs: "host;x-amz-content-sha256;x-amz-date;x-amz-security-token",
        "6addbdc0b429f68a9b9bcf3e6e9c53cc2d29a22d757204e364854f5fd67748d8"),
]

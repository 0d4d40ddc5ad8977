import Testing

@testable import Remotes

@Suite("S3 addresses")
struct S3AddressTests {
    @Test(
        "puts the bucket into the host for AWS and into the path elsewhere",
        arguments: [
            ("https://s3.eu-central-1.amazonaws.com", "photos", "https://photos.s3.eu-central-1.amazonaws.com"),
            ("https://S3.EU-Central-1.amazonaws.com/", "photos", "https://photos.s3.eu-central-1.amazonaws.com"),
            ("https://photos.s3.eu-central-1.amazonaws.com", "photos", "https://photos.s3.eu-central-1.amazonaws.com"),
            ("https://s3.cn-north-1.amazonaws.com.cn", "photos", "https://photos.s3.cn-north-1.amazonaws.com.cn"),
            // A bucket named like a part of the server's host.
            ("https://s3.eu-west-1.amazonaws.com", "s3", "https://s3.s3.eu-west-1.amazonaws.com"),
            // The certificate does not cover two labels.
            ("https://s3.amazonaws.com", "photos.example.org", "https://s3.amazonaws.com/photos.example.org"),
            ("http://s3.amazonaws.com", "photos.example.org", "http://photos.example.org.s3.amazonaws.com"),
            ("https://amazonaws.com.example.org", "photos", "https://amazonaws.com.example.org/photos"),
            ("https://minio.example.org:9000", "photos", "https://minio.example.org:9000/photos"),
            ("https://example.org/storage/s3//", "photos", "https://example.org/storage/s3/photos"),
            ("http://[2001:DB8::1]:8333", "photos", "http://[2001:db8::1]:8333/photos"),
            ("http://127.0.0.1:8333", "a b", "http://127.0.0.1:8333/a%20b"),
        ])
    func auto(endpoint: String, bucket: String, base: String) {
        #expect(S3Address(endpoint: endpoint, bucket: bucket).base == base)
    }

    @Test("follows the wished style")
    func styles() {
        let aws = "https://s3.eu-central-1.amazonaws.com"
        #expect(S3Address(endpoint: aws, bucket: "b", style: .path).base == aws + "/b")
        let other = S3Address(endpoint: "http://example.org:8333/x", bucket: "b.c", style: .virtualHost)
        #expect(other.base == "http://b.c.example.org:8333/x")
        let named = S3Address(endpoint: "https://b.example.org", bucket: "b", style: .virtualHost)
        #expect(named.base == "https://b.b.example.org")
    }

    @Test(
        "encodes each byte of a key once, except for slashes",
        arguments: [
            ("a/b.jpg", "a/b.jpg"), ("a b+c%20&=?#.jpg", "a%20b%2Bc%2520%26%3D%3F%23.jpg"), ("ü/日", "%C3%BC/%E6%97%A5"),
            ("a//b/", "a//b/"), ("../.", "../."), ("~-_.", "~-_."), ("'!()*", "%27%21%28%29%2A"),
            // A combining accent after a slash is no other character for a server.
            ("a/\u{301}b", "a/%CC%81b"),
        ])
    func keys(key: String, path: String) {
        let address = S3Address(endpoint: "http://h", bucket: "b")
        #expect(address.url(of: key) == "http://h/b/" + path)
    }

    @Test("encodes queries, and gives each name a value")
    func queries() {
        let address = S3Address(endpoint: "http://h", bucket: "b")
        #expect(address.url(of: "k", query: [("uploads", "")]) == "http://h/b/k?uploads=")
        let url = address.url(of: "k", query: [("partNumber", "1"), ("uploadId", "a/b+c==")])
        #expect(url == "http://h/b/k?partNumber=1&uploadId=a%2Fb%2Bc%3D%3D")
        #expect(address.url() == "http://h/b/")
    }
}

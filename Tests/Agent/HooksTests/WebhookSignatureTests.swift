import Foundation
import TestSupport
import Testing

@testable import Hooks

@Suite("The signature of a web hook")
struct WebhookSignatureTests {
    private let place: TemporaryDirectory

    init() throws { place = try TemporaryDirectory() }

    private func signature(_ secret: String) throws -> WebhookSignature {
        try Data(secret.utf8).write(to: URL(fileURLWithPath: place.path("secret")))
        return try WebhookSignature(secretFile: place.path("secret"))
    }

    @Test("is that of the specification's example, with and without whsec_", arguments: ["whsec_", ""])
    func example(prefix: String) throws {
        // github.com/standard-webhooks/standard-webhooks, libraries/python/tests.
        let signature = try signature(prefix + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
        let text = signature.text(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
        #expect(text == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test("is refused without a secret in base64", arguments: ["", "not base64!", "whsec_"])
    func noSecret(secret: String) {
        #expect(throws: SecretTrouble.self) { try signature(secret) }
    }
}

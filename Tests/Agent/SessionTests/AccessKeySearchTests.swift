import Foundation
import Remotes
import TestSupport
import Testing

@testable import AgentConfiguration
@testable import Session

@Suite("The search for access keys")
struct AccessKeySearchTests {
    private let place: TemporaryDirectory

    init() throws { place = try TemporaryDirectory() }

    private func write(_ text: String, _ name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: place.path(name)))
        return place.path(name)
    }

    private func remote(_ change: (inout Configuration.Remote) -> Void = { _ in }) -> Configuration.Remote {
        var remote = Configuration.Remote()
        remote.protocol = .s3
        change(&remote)
        return remote
    }

    private func credentialsFile() throws -> String {
        try write(
            """
            # keys of the household
            [default]
            aws_access_key_id = AKIADEFAULT
            aws_secret_access_key=default+secret/=

            [ holiday ]
            ; temporary keys
            AWS_ACCESS_KEY_ID = AKIAHOLIDAY
            aws_secret_access_key = holiday
            aws_session_token = token
            [half]
            aws_access_key_id = AKIAHALF
            """, "credentials")
    }

    @Test("prefers key files, then the named profile, then the environment, then the default profile")
    func order() throws {
        let file = try credentialsFile()
        let keys = (try write("AKIAFILE\n", "key"), try write("file-secret \n", "secret"))
        var environment = ["AWS_SHARED_CREDENTIALS_FILE": file]
        #expect(
            try AccessKeySearch(remote(), environment: environment).find()
                == AccessKeys(id: "AKIADEFAULT", secret: "default+secret/="))
        environment["AWS_PROFILE"] = "holiday"
        let holiday = AccessKeys(id: "AKIAHOLIDAY", secret: "holiday", sessionToken: "token")
        #expect(try AccessKeySearch(remote(), environment: environment).find() == holiday)
        environment["AWS_ACCESS_KEY_ID"] = "AKIAENV"
        environment["AWS_SECRET_ACCESS_KEY"] = "env"
        let environmental = AccessKeys(id: "AKIAENV", secret: "env")
        #expect(try AccessKeySearch(remote(), environment: environment).find() == environmental)
        let profile = remote { ($0.profile, $0.credentialsFile) = ("holiday", file) }
        #expect(try AccessKeySearch(profile, environment: environment).find() == holiday)
        let files = remote { ($0.profile, $0.accessKeyFile, $0.secretKeyFile) = ("holiday", keys.0, keys.1) }
        #expect(
            try AccessKeySearch(files, environment: environment).find()
                == AccessKeys(id: "AKIAFILE", secret: "file-secret"))
    }

    @Test("looks into the home directory")
    func home() throws {
        try FileManager.default.createDirectory(atPath: place.path(".aws"), withIntermediateDirectories: true)
        _ = try write("[default]\naws_access_key_id=A\naws_secret_access_key=B\n", ".aws/credentials")
        let environment = ["HOME": place.path("")]
        #expect(try AccessKeySearch(remote(), environment: environment).find() == AccessKeys(id: "A", secret: "B"))
    }

    @Test("says what is missing, and never repeats a key")
    func problems() throws {
        let file = try credentialsFile()
        let odd = try write("bad\u{7}key", "odd")
        let large = try write(String(repeating: "#", count: AccessKeySearch.longestFile + 1), "large")
        let table: [(Configuration.Remote, [String: String], String)] = [
            (remote(), [:], "neither AWS_ACCESS_KEY_ID nor HOME is set; set remote.access_key_file"),
            (remote(), ["HOME": "/nonexistent"], "/nonexistent/.aws/credentials can't be read"),
            (
                remote {
                    $0.credentialsFile = file; $0.profile = "none"
                }, [:], "has no profile \"none\""
            ),
            (
                remote {
                    $0.credentialsFile = file; $0.profile = "half"
                }, [:], "lacks aws_access_key_id or"
            ),
            (
                remote {
                    $0.accessKeyFile = odd; $0.secretKeyFile = odd
                }, [:], "the first line of \(odd) is no key"
            ),
            (
                remote(), ["AWS_ACCESS_KEY_ID": "a b", "AWS_SECRET_ACCESS_KEY": "s3cr3t"],
                "holds characters that no key"
            ),
            (remote { $0.credentialsFile = place.path("") }, [:], "is not a regular file"),
            (remote { $0.credentialsFile = large }, [:], "is larger than 64 KiB"),
        ]
        for (remote, environment, message) in table {
            let error = #expect(throws: AccessKeyProblem.self) {
                try AccessKeySearch(remote, environment: environment).find()
            }
            #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
            #expect(error?.description.contains("s3cr3t") == false)
        }
    }

    @Test("access keys replace tokens: nothing reads a token, and nobody signs in")
    func keysOnly() throws {
        let search = AccessKeySearch(
            remote(), environment: ["AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B"])
        let credentials = Credentials(
            environmentToken: "token", tokenFile: nil, stateDirectory: "/nonexistent", mayTravel: true,
            accessKeys: search)
        #expect(credentials.credential() == .keys(AccessKeys(id: "A", secret: "B")))
        #expect(credentials.bearerToken() == nil && credentials.origin == nil && credentials.areKeys)
    }
}

import Testing
import UploadCore

@Suite("The scope of uploads")
struct RemoteScopeTests {
    @Test(
        "survives writing and reading with any account name", arguments: ["ann", "mary ann", "http://b c", "é "])
    func roundTrip(account: String) {
        let scope = RemoteScope(protocolName: "filesection", server: "https://a.example/b", account: account)
        // Ledgers of every version contain this text.
        #expect(scope.description == "filesection https://a.example/b \(account)")
        #expect(RemoteScope(scope.description) == scope)
        #expect(scope.place == "filesection https://a.example/b")
    }

    @Test("any other line stays unchanged", arguments: ["", "here", "here there"])
    func otherLines(line: String) {
        #expect(RemoteScope(line).description == line)
        #expect(RemoteScope(line).account.isEmpty)
    }
}

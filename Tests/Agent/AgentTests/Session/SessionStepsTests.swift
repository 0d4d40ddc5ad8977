import Session
import Testing
import UploadCore

@testable import Agent

@Suite("What follows from news about credentials")
struct SessionStepsTests {
    private func words(_ steps: [AgentStep]) -> [String] {
        steps.map { step in
            switch step {
            case .handle(.uploads([.credentialsChanged])): "continue"
            case .handle(.uploads([.setSignedOut(nil), .credentialsChanged])): "sign in, continue"
            case .handle(.uploads([.setSignedOut(SessionKeeper.signedOut)])): "sign out"
            case .handle(.signedIn): "take nobody's"
            case .tellPortraits(.signedOut): "end portrait"
            case .tellPortraits(.serverTrouble(let error)): "portrait \(error?.code ?? "-")"
            case .problem(let problem, let message): "problem \(problem) \(message == nil ? "ends" : "begins")"
            case .log(let level, _, _): "log \(level)"
            default: "\(step)"
            }
        }
    }

    @Test(
        "changed credentials continue, sign in or sign out",
        arguments: [
            (false, false, ["continue"]),
            (
                false, true,
                ["take nobody's", "sign in, continue", "problem session ends", "stopWatchingForToken"]
            ),
            (true, false, ["sign out", "problem session begins", "log warning", "watchForToken"]),
            (true, true, ["sign out", "problem session begins", "log warning", "watchForToken"]),
        ])
    func changed(isSignedOut: Bool, wasSignedOut: Bool, steps: [String]) {
        let found = SessionSteps.credentialsChanged(
            isLogout: false, isSignedOut: isSignedOut, wasSignedOut: wasSignedOut, isReported: false)
        #expect(words(found) == steps)
    }

    @Test("a reported sign-out is not reported again")
    func reported() {
        let steps = SessionSteps.credentialsChanged(
            isLogout: false, isSignedOut: true, wasSignedOut: true, isReported: true)
        #expect(words(steps) == ["sign out"])
    }

    @Test("a logout ends the portrait's session before a token from elsewhere counts")
    func logout() {
        let other = SessionSteps.credentialsChanged(
            isLogout: true, isSignedOut: false, wasSignedOut: true, isReported: true)
        #expect(words(other).prefix(3) == ["end portrait", "take nobody's", "sign in, continue"])
        let none = SessionSteps.credentialsChanged(
            isLogout: true, isSignedOut: true, wasSignedOut: true, isReported: true)
        #expect(words(none) == ["end portrait", "sign out"])
    }

    @Test(
        "the agent watches for a token only while the server refuses the present one",
        arguments: [
            ("signed_out", ["problem server begins", "portrait signed_out", "log warning", "watchForToken"]),
            ("server", ["problem server begins", "portrait server", "stopWatchingForToken", "log warning"]),
            (nil, ["problem server ends", "portrait -", "stopWatchingForToken", "log notice"]),
        ] as [(String?, [String])])
    func trouble(code: String?, steps: [String]) {
        let error = code.map { FileError(code: $0, message: "m", retryable: true) }
        #expect(words(SessionSteps.serverTrouble(error, usesKeys: false)) == steps)
    }

    @Test("the agent watches for a token after the server refused that of a picture")
    func portrait() {
        let error = FileError(code: "signed_out", message: "m", retryable: true)
        #expect(words(SessionSteps.portraitRefused(error)) == ["log warning", "watchForToken"])
    }
}

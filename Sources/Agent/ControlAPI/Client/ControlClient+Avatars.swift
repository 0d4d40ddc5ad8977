import Clocks
import Text
package import Reports
import UploadCore

extension ControlClient {
    /// Longest wait that the agent accepts in one request. With several shorter waits, the agent would continue even
    /// if the client was killed after the first one: an agent that answers "ask again" expects the client to return.
    private static let longestWait = Duration.seconds(300)

    /// Returns the place of a picture in the mirror, as soon as the picture is there.
    ///
    /// - Parameters:
    ///   - url: the picture's address in any spelling.
    ///   - style: a step or the name of a style.
    ///   - patience: how long to wait. The agent continues fetching afterwards, but not if the process ended before.
    /// - Throws: `AvatarTrouble` if there is no picture; `ControlError`.
    package func avatar(url: String, style: String, patience: Duration) async throws -> AvatarFile {
        let clock = ContinuousClock()
        let end = clock.now + patience
        let target = "/v1/avatar/file?url=\(Self.escaped(url))&style=\(Self.escaped(style))"
        while true {
            let left = max(.zero, end - clock.now)
            do {
                let wait = min(left, Self.longestWait).components.seconds
                return try await ask(target + "&wait=\(wait)", wait: Int32(wait))
            } catch let trouble as AvatarTrouble {
                guard trouble.code == AvatarTrouble.pending, left > .seconds(1) else { throw trouble }
            }
        }
    }

    /// Returns the content of the mirror.
    ///
    /// - Throws: `AvatarTrouble`, `ControlError`.
    package func avatars() async throws -> AvatarList {
        try await ask("/v1/avatars")
    }

    /// Clears the mirror.
    ///
    /// - Parameter age: removes only pictures fetched before this age; `nil` removes all.
    /// - Throws: `AvatarTrouble`, `ControlError`.
    package func clearAvatars(olderThan age: Duration?) async throws -> AvatarClearance {
        try await ask("/v1/avatars" + (age.map { "?older_than=\(Units.spell($0))" } ?? ""), method: "DELETE")
    }

    private func ask<Value: Decodable>(_ target: String, method: String = "GET", wait: Int32 = 0) async throws -> Value
    {
        do {
            return try await get(target, method: method, wait: wait)
        } catch {
            guard case .refused(let code, let reason) = error else { throw error }
            throw AvatarTrouble(code, reason)
        }
    }

    /// Percent-encodes everything except unreserved characters (RFC 3986, section 2.3).
    static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result += "%" + byte.hexadecimal.uppercased()
            }
        }
        return result
    }
}

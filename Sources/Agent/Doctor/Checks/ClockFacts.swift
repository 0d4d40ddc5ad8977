import Text

/// This machine's clock, compared with the server's.
struct ClockFacts: Equatable, Sendable {
    /// Seconds since 1970 on this machine's wall clock.
    var now: Int64
    /// Whether the clock is synchronised (adjtimex(2)); nil if the kernel doesn't tell.
    var isSynchronised: Bool?
    /// Seconds this machine is ahead of the server's `Date`; nil without an answer that has this header.
    var aheadOfServer: Int64?
    /// Whether the connection uses TLS, which needs a roughly correct clock.
    var isEncrypted: Bool

    /// 2024-01-01, a date before this program existed.
    private static let oldest: Int64 = 1_704_067_200
    /// A larger difference gives a warning, in seconds.
    private static let tolerance: Int64 = 300

    var findings: [Finding] {
        if now < Self.oldest {
            let effect = isEncrypted ? ": certificates will be rejected as \"not yet valid\"" : ""
            return [
                Finding(.clock, .warning, "the clock of this machine is years behind\(effect)", remedy: Self.remedy)
            ]
        }
        guard let aheadOfServer, aheadOfServer.magnitude > Self.tolerance.magnitude else { return [synchronised] }
        let difference = Quantity.duration(seconds: aheadOfServer.magnitude)
        let direction = aheadOfServer > 0 ? "ahead of" : "behind"
        let effect = isEncrypted ? "; certificates may be rejected" : "; uploads work, but times in sidecars are wrong"
        return [
            Finding(
                .clock, .warning, "this machine's clock is \(difference) \(direction) the server's\(effect)",
                remedy: isSynchronised == true
                    ? "this machine's clock is synchronised; tell the server's operator" : Self.remedy)
        ]
    }

    private var synchronised: Finding {
        let agreement = aheadOfServer.map { ahead in
            ahead.magnitude < 2
                ? "agrees with the server" : "\(Quantity.duration(seconds: ahead.magnitude)) off the server's clock"
        }
        if isSynchronised == false {
            return Finding(
                .clock, .note, [agreement, "not synchronised"].compactMap(\.self).joined(separator: ", "),
                remedy: Self.remedy)
        }
        return Finding(.clock, .ok, agreement ?? "not compared: the server did not answer")
    }

    private static let remedy = "sudo timedatectl set-ntp true; `timedatectl` shows the time"
}

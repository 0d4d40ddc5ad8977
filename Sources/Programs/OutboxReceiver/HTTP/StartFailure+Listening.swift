import NIOCore
import SystemPackage

extension StartFailure {
    /// Returns nil if the error is unrelated to the address.
    init?(_ error: any Error, listeningOn address: ListenAddress) {
        let reason: String
        let advice: String
        switch error {
        case let error as IOError:
            let code = Errno(rawValue: error.errnoCode)
            reason = "\(code)"
            advice = Self.advice(code)
        case let error as SocketAddressError.UnknownHost:
            reason = error.errorDescription
            advice = "give --listen an address of this machine"
        default: return nil
        }
        let start = reason.prefix(1).lowercased() + reason.dropFirst()
        self = .cannotCreate("cannot listen on \(address): \(start); \(advice)")
    }

    private static func advice(_ code: Errno) -> String {
        switch code {
        case .addressInUse: "stop the other program or choose another --listen"
        case .permissionDenied, .notPermitted: "choose a port of 1024 or above for --listen"
        case .addressNotAvailable: "give --listen an address of this machine"
        default: "choose another --listen"
        }
    }
}

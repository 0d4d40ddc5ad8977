import Remotes

/// Withholds the token if requests travel over plain http to another machine (`remote.insecure_http`).
struct GuardedCredentials: CredentialSource {
    private let source: any CredentialSource
    private let mayTravel: Bool

    init(_ source: any CredentialSource, mayTravel: Bool) {
        self.source = source
        self.mayTravel = mayTravel
    }

    func bearerToken() -> String? { mayTravel ? source.bearerToken() : nil }
}

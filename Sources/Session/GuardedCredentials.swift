package import Remotes

/// Withholds the token if requests travel over plain http to another machine (`remote.insecure_http`).
package struct GuardedCredentials: CredentialSource {
    private let source: any CredentialSource
    private let mayTravel: Bool

    package init(_ source: any CredentialSource, mayTravel: Bool) {
        self.source = source
        self.mayTravel = mayTravel
    }

    package func bearerToken() -> String? { mayTravel ? source.bearerToken() : nil }
}

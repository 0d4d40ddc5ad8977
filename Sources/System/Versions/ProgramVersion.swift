/// The version of all programs of this package. The only place that says it; scripts/version.sh reads it from here.
package enum ProgramVersion {
    /// A semantic version: `outbox --version`, `/v1/health`, the names of packages.
    package static let current = "0.2.0"
}

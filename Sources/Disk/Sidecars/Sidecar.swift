import Reports
import UploadCore

/// The report that a sidecar is written from. Boxed, since a table of waiting reports has room to spare for others.
indirect enum Sidecar: Sendable {
    case file(FileReport)
    case source(SourceReport)

    /// The file or source that the sidecar describes.
    var subject: SidecarSubject {
        switch self {
        case .file(let report): .file(report.path)
        case .source(let report): .source(report.directory)
        }
    }

    /// The state in the sidecar.
    var state: SourceState {
        switch self {
        case .file(let report): .file(report.state)
        case .source(let report): report.state
        }
    }

    /// The full text.
    var text: [UInt8] {
        switch self {
        case .file(let report): report.sidecarText()
        case .source(let report): report.sidecarText()
        }
    }

    /// Parts of the text that distinguish this outcome from all others.
    var outcome: [String] {
        switch self {
        case .file(let report): report.outcome
        case .source(let report): report.outcome
        }
    }

    /// Returns the same number for two texts that agree in everything except `updated_at`, their last member.
    static func digest(of text: [UInt8]) -> Int {
        var hasher = Hasher()
        let end = text.lastIndex(of: UInt8(ascii: ",")) ?? text.endIndex
        text[..<end].withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}

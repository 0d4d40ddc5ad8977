import Reports
import UploadCore

/// The report that a sidecar is written from.
enum Sidecar: Sendable {
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

    /// Whether both reports agree in everything except time and speed.
    func saysTheSame(as other: Sidecar) -> Bool {
        switch (self, other) {
        case (.file(let one), .file(let other)): one.timeless == other.timeless
        case (.source(let one), .source(let other)): one.timeless == other.timeless
        case (.file, .source), (.source, .file): false
        }
    }
}

extension FileReport {
    fileprivate var timeless: FileReport {
        var report = self
        report.updatedAt = WallTime(milliseconds: 0)
        report.bytesPerSecond = nil
        report.bytesInFlight = nil
        return report
    }
}

extension SourceReport {
    fileprivate var timeless: SourceReport {
        var report = self
        report.updatedAt = WallTime(milliseconds: 0)
        report.files = files.map(\.timeless)
        return report
    }
}

import UploadCore

/// What is to be told of a file or a source: all that those who write sidecars know of it.
enum Sidecar: Sendable {
    case file(FileReport)
    case source(SourceReport)

    /// What it is about.
    var subject: SidecarSubject {
        switch self {
        case .file(let report): .file(report.path)
        case .source(let report): .source(report.directory)
        }
    }

    /// The state it tells.
    var state: SourceState {
        switch self {
        case .file(let report): .file(report.state)
        case .source(let report): report.state
        }
    }

    /// The whole text.
    var text: [UInt8] {
        switch self {
        case .file(let report): report.sidecarText()
        case .source(let report): report.sidecarText()
        }
    }

    /// Pieces of the text that tell this outcome from any other.
    var outcome: [String] {
        switch self {
        case .file(let report): report.outcome
        case .source(let report): report.outcome
        }
    }

    /// Whether both tell the same, whenever they were made and however fast it goes.
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

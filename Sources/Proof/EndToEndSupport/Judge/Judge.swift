import TestSupport

/// Records the outbox's contents and judges the outcomes, by the definitions of the trials:
///
/// - **Lost**: a file that was closed in or renamed into the outbox, but has neither an object on the server nor a
///   final sidecar with the reason.
/// - **Duplicate**: a second finished object on the server for one content.
/// - **Mixture**: a finished object whose bytes never formed a file at one time.
package struct Judge {
    private struct Place {
        /// The acceptable final contents of the path. More than one after a change that may go unnoticed.
        var acceptable: Set<String>
    }

    private var places: [String: Place] = [:]
    private var everStood: Set<String> = []

    package init() {}

    /// Records that the content with this key now fills the file at `path`, in place of any earlier content.
    ///
    /// - Parameter mayGoUnnoticed: Only the bytes show the change, so an outcome for the previous content is also
    ///   acceptable, if that content finished first.
    package mutating func stands(_ key: String, at path: String, mayGoUnnoticed: Bool = false) {
        everStood.insert(key)
        if mayGoUnnoticed {
            places[path, default: Place(acceptable: [])].acceptable.insert(key)
        } else {
            places[path] = Place(acceptable: [key])
        }
    }

    /// Records that the trial removed the path. The judge expects nothing of a removed path.
    package mutating func removed(_ path: String) { places[path] = nil }

    /// All paths with an expected outcome.
    package var paths: [String] { places.keys.sorted() }

    /// Returns those of `paths` without an outcome so far.
    package func unfinished(
        among paths: some Sequence<String>, sidecar: (String) throws -> Sidecar?
    ) rethrows -> [String] {
        try paths.filter { path in
            guard let place = places[path] else { return false }
            return try outcome(of: place, sidecar: sidecar(path)) == .none
        }
    }

    /// Judges all paths and all objects of the server.
    package func verdict(stored: Stored, sidecar: (String) throws -> Sidecar?) rethrows -> Verdict {
        var verdict = Verdict()
        let finished = Set(stored.finished)
        for (path, place) in places.sorted(by: { $0.key < $1.key }) {
            let sidecar = try sidecar(path)
            switch outcome(of: place, sidecar: sidecar) {
            case .refused: continue
            case .none: verdict.lost.append("\(path): \(sidecar?.brief ?? "no sidecar")")
            case .stored(let key):
                // The sidecar alone is no proof: the object must exist.
                if !finished.contains(key) { verdict.lost.append("\(path): done, and the server does not have \(key)") }
            }
        }
        var counts: [String: Int] = [:]
        for key in stored.finished { counts[key, default: 0] += 1 }
        verdict.duplicates = counts.filter { $0.value > 1 }.map { "\($0.key) is stored \($0.value) times" }.sorted()
        verdict.mixtures =
            stored.mixed + finished.subtracting(everStood).sorted().map { "\($0) never stood in a file" }
        verdict.violations = stored.violations
        return verdict
    }

    private enum PathOutcome: Equatable {
        case none
        case refused
        case stored(String)
    }

    private func outcome(of place: Place, sidecar: Sidecar?) -> PathOutcome {
        guard let sidecar, sidecar.state.isFinal else { return .none }
        if sidecar.state == .done {
            // A sidecar that is done with an earlier content is no outcome for the current content.
            guard let key = sidecar.key, place.acceptable.contains(key) else { return .none }
            return .stored(key)
        }
        return sidecar.error.map { !$0.code.isEmpty && !$0.message.isEmpty } == true ? .refused : .none
    }
}

/// The contents of a server, as the server itself reports them.
package struct Stored {
    /// One key per finished object, computed from its bytes.
    package var finished: [String]
    /// Objects that the server was asked to assemble from bytes of different contents.
    package var mixed: [String] = []
    /// Violations of the protocol by the agent.
    package var violations: [String] = []

    package init(finished: [String], mixed: [String] = [], violations: [String] = []) {
        self.finished = finished
        self.mixed = mixed
        self.violations = violations
    }
}

extension FaultServer {
    /// The server's contents now.
    package var stored: Stored {
        let store = store
        return Stored(finished: store.finished, mixed: store.mixtures, violations: store.violations)
    }
}

extension Receiver {
    /// Reads and hashes all objects of the receiver.
    package func stored() throws -> Stored { Stored(finished: try objects()) }
}

/// The faults that fail a trial.
package struct Verdict: Equatable {
    package var lost: [String] = []
    package var duplicates: [String] = []
    package var mixtures: [String] = []
    package var violations: [String] = []

    package var isClean: Bool { lost.isEmpty && duplicates.isEmpty && mixtures.isEmpty && violations.isEmpty }

    /// `0 lost, 0 duplicates, 0 mixtures`, plus the number of protocol violations if there are any.
    package var summary: String {
        "\(lost.count) lost, \(duplicates.count) duplicates, \(mixtures.count) mixtures"
            + (violations.isEmpty ? "" : ", \(violations.count) violations of the protocol")
    }

    /// One line per fault.
    package var details: [String] {
        lost.map { "lost: \($0)" } + duplicates.map { "duplicate: \($0)" } + mixtures.map { "mixture: \($0)" }
            + violations.map { "violation: \($0)" }
    }
}

extension Agent {
    /// Waits until every path known to the judge has an outcome. Also returns on timeout, because the judge then
    /// reports what is missing.
    ///
    /// - Returns: Whether every path has an outcome.
    /// - Throws: ``Surprise`` if the agent ended meanwhile.
    @discardableResult
    package func outcomes(_ judge: Judge, timeout: Duration) async throws -> Bool {
        var left = judge.paths
        do {
            try await Poll.until("outcomes", timeout: timeout, every: .milliseconds(50)) {
                if let ending = program?.ending { throw Surprise("the agent ended by itself: \(ending)\n\(log)") }
                // Looks no further than to the first unfinished path: reading 100,000 sidecars at each check would
                // take the processor from the agent.
                while let path = left.last {
                    guard try judge.unfinished(among: [path], sidecar: { try sidecar($0) }).isEmpty else {
                        return false
                    }
                    left.removeLast()
                }
                // The agent may notice late that a file changed which had an outcome already.
                left = try judge.unfinished(among: judge.paths) { try sidecar($0) }
                return left.isEmpty
            }
        } catch is Poll.TimedOut {}
        return left.isEmpty
    }
}

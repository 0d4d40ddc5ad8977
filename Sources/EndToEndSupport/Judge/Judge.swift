/// Keeps what stood in the outbox and judges what became of it, by the definitions of the trials:
///
/// - **Lost**: closed in or renamed into the outbox, and neither stored by the server nor given a final sidecar that
///   says why it is not.
/// - **Duplicate**: a second finished object on the server for one content.
/// - **Mixture**: a finished object whose bytes never stood in a file at one time.
package struct Judge {
    private struct Place {
        /// Any of these may be what the path ends as; more than one after a change that may go unnoticed.
        var acceptable: Set<String>
    }

    private var places: [String: Place] = [:]
    private var everStood: Set<String> = []

    package init() {}

    /// The content with this key stands at `path` now, whole, in place of whatever stood there.
    ///
    /// - Parameter mayGoUnnoticed: nothing outside the bytes tells of the change, so that an outcome for the
    ///   content before it is right as well, if that was finished first.
    package mutating func stands(_ key: String, at path: String, mayGoUnnoticed: Bool = false) {
        everStood.insert(key)
        if mayGoUnnoticed {
            places[path, default: Place(acceptable: [])].acceptable.insert(key)
        } else {
            places[path] = Place(acceptable: [key])
        }
    }

    /// The path is gone, by the trial's own doing; nothing is asked of it any more.
    package mutating func removed(_ path: String) { places[path] = nil }

    /// Every path that something is expected of.
    package var paths: [String] { places.keys.sorted() }
    /// Every content that is to be stored in the end, once.
    package var contents: Set<String> { Set(places.values.flatMap(\.acceptable)) }

    /// Those of `paths` that have no outcome yet.
    package func unfinished(
        among paths: some Sequence<String>, sidecar: (String) throws -> Sidecar?
    ) rethrows -> [String] {
        try paths.filter { path in
            guard let place = places[path] else { return false }
            return try outcome(of: place, sidecar: sidecar(path)) == .none
        }
    }

    /// What became of everything.
    package func verdict(stored: Stored, sidecar: (String) throws -> Sidecar?) rethrows -> Verdict {
        var verdict = Verdict()
        let finished = Set(stored.finished)
        for (path, place) in places.sorted(by: { $0.key < $1.key }) {
            let sidecar = try sidecar(path)
            switch outcome(of: place, sidecar: sidecar) {
            case .refused: continue
            case .none: verdict.lost.append("\(path): \(sidecar?.brief ?? "no sidecar")")
            case .stored(let key):
                // The sidecar's word is not enough: the object must be there.
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
            // Done for what stood there before is no outcome for what stands there now.
            guard let key = sidecar.key, place.acceptable.contains(key) else { return .none }
            return .stored(key)
        }
        return sidecar.error.map { !$0.code.isEmpty && !$0.message.isEmpty } == true ? .refused : .none
    }
}

/// What a server has, seen from its own side.
package struct Stored {
    /// One key for each finished object, told by its bytes.
    package var finished: [String]
    /// Objects that the server was asked to finish from bytes which do not belong together.
    package var mixed: [String] = []
    /// What the protocol does not allow, and was sent all the same.
    package var violations: [String] = []

    package init(finished: [String], mixed: [String] = [], violations: [String] = []) {
        self.finished = finished
        self.mixed = mixed
        self.violations = violations
    }
}

extension FaultServer {
    /// What it has now.
    package var stored: Stored {
        let store = store
        return Stored(finished: store.finished, mixed: store.mixtures, violations: store.violations)
    }
}

extension Receiver {
    /// What it has now, every object read and hashed.
    package func stored() throws -> Stored { Stored(finished: try objects()) }
}

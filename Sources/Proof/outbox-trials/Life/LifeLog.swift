import EndToEndSupport
import Foundation

/// Logs all acts and requests with times, keys and ids, in `acts.log` and `server.log` beside the agent's logs.
///
/// Both logs count seconds from the same moment. The agent's own log has the wall clock, which the trial moves.
final class LifeLog {
    private let begun = ContinuousClock.now
    private let place: String
    private let acts: FileHandle

    /// - Parameter place: the trial's directory. After a failed trial, the runner keeps files directly inside.
    init(in place: String) throws {
        self.place = place
        let path = "\(place)/acts.log"
        guard FileManager.default.createFile(atPath: path, contents: nil), let acts = FileHandle(forWritingAtPath: path)
        else { throw Surprise("\(path) can't be written") }
        self.acts = acts
    }

    func add(act number: Int, at moment: ContinuousClock.Instant, _ text: String) {
        acts.write(Data("\(seconds(moment)) \(number) \(text)\n".utf8))
    }

    /// Writes all ids that the server issued, with their files, then all requests except fragments, in order.
    func write(_ server: FaultServer) throws {
        let store = server.store
        var lines = store.announced.values.sorted {
            ($0.id?.count ?? 0, $0.id ?? "") < ($1.id?.count ?? 0, $1.id ?? "")
        }
        .map { file in
            let id = file.id ?? ""
            let state =
                store.deleted.contains(id) ? "deleted" : store.uploads[id]?.finished == true ? "finished" : "open"
            return "\(id) \(file.md5) \(state) \(file.path ?? file.name)"
        }
        lines += server.records.filter { $0.endpoint != .upload }.map { record in
            let files = record.files.map { "\($0.id ?? $0.md5) (\($0.name))" }.joined(separator: ", ")
            let fault = record.fault.map { " answered by \($0)" } ?? ""
            return "\(seconds(record.at)) \(record.endpoint)\(fault): \(files)"
        }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: "\(place)/server.log"))
    }

    private func seconds(_ moment: ContinuousClock.Instant) -> String {
        String(format: "%.3f", (moment - begun) / .seconds(1))
    }
}

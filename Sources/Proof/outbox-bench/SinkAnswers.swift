import FoundationEssentials
import Synchronization

/// The answers of a fileSection server that has everything and stores nothing (docs/protocol.md).
final class SinkAnswers: Sendable {
    /// The requests whose body matters.
    enum Place {
        case preLoad, isFinish

        init?(_ target: String) {
            switch target {
            case "/fileSection/preLoad.do": self = .preLoad
            case "/fileSection/isFinish.do": self = .isFinish
            default: return nil
            }
        }
    }

    /// The answer to fragments, and to all other requests.
    static let nothing = #"{"code":200,"message":"ok","data":{}}"#

    private struct Registration: Decodable {
        struct File: Decodable {}
        let files: [File]
    }

    private struct Question: Decodable {
        let fileIds: [String]
    }

    private let url: String
    private let lastID = Atomic(0)

    init(url: String) {
        self.url = url
    }

    func answer(_ place: Place, to body: [UInt8]) -> String {
        let decoder = JSONDecoder()
        switch place {
        case .preLoad:
            guard let request = try? decoder.decode(Registration.self, from: Data(body)) else { return Self.refusal }
            let last = lastID.add(request.files.count, ordering: .relaxed).newValue
            let ids = (last - request.files.count + 1..<last + 1).map { "\"\($0)\"" }
            return #"{"code":200,"message":"ok","data":{"fileIds":[\#(ids.joined(separator: ","))]}}"#
        case .isFinish:
            guard let question = try? decoder.decode(Question.self, from: Data(body)) else { return Self.refusal }
            let urls = question.fileIds.map { #""\#($0)":"\#(url)/\#($0)""# }
            return
                #"{"code":200,"message":"ok","data":{"finishStatus":1,"failFileIds":"","urls":{\#(urls.joined(separator: ","))}}}"#
        }
    }

    private static let refusal = #"{"code":400,"message":"this is no such request","data":{}}"#
}

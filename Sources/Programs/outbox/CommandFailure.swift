import AgentConfiguration
import Text
import ArgumentParser
import ControlAPI
import Glibc
import Session
import SystemdService

/// The failures of commands, and the only table of exit statuses (docs/errors.md, man 3 sysexits).
enum CommandFailure: Error {
    /// The answer is no, and was already printed.
    case answerIsNo
    /// A word on the command line names nothing.
    case noSuchFile(name: String, reason: String)
    /// A directory lies in a post, so it is no post itself.
    case partOfPost(name: String, post: String)
    /// The request to the agent failed.
    case control(ControlError)
    /// The agent can't run, or its ledger can't be read.
    case agent(AgentFailure)
    /// The configuration is invalid. `all` tells whether to print all errors or only the first.
    case configuration(ConfigurationErrors, all: Bool)
    /// The configuration is valid but unsuitable for this command.
    case objection(ConfigurationError)
    /// The service can't be installed, removed or queried.
    case service(ServiceError)
    /// The token can't be stored or discarded.
    case session(SessionError)
    /// The picture is unavailable, or the mirror is unusable.
    case avatar(AvatarTrouble)
    /// The agent serves no dashboard, or no program can show it.
    case unavailable(String)
    /// A temporary failure; a retry may succeed.
    case tryAgain(String)
    /// Another system error.
    case system(String)

    /// Converts an error; nil for errors of the argument parser.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let failure as ControlError: self = .control(failure)
        case let failure as AgentFailure: self = .agent(failure)
        case let failure as ServiceError: self = .service(failure)
        case let error as SessionError: self = .session(error)
        case let trouble as AvatarTrouble: self = .avatar(trouble)
        case let errors as ConfigurationErrors: self = .configuration(errors, all: false)
        case is CleanExit, is ValidationError, is ExitCode: return nil
        default:
            // The parser's error type is not public. Its exit code distinguishes it from system errors.
            if Outbox.exitCode(for: error) != .failure { return nil }
            self = .system("\(error)")
        }
    }

    /// The exit status.
    var status: Int32 {
        switch self {
        case .answerIsNo, .partOfPost: 1
        case .noSuchFile: EX_NOINPUT
        case .control(.refused(let code, _)) where code == "input_output": EX_IOERR
        case .control(.notRunning), .control(.cutOff), .control(.failed), .control(.refused), .unavailable:
            EX_UNAVAILABLE
        case .control(.notAllowed), .control(.notTrusted): EX_NOPERM
        case .agent(.alreadyRunning), .tryAgain: EX_TEMPFAIL
        case .agent(.cannotCreate): EX_CANTCREAT
        case .agent(.limit): EX_OSERR
        case .session(.notAToken): EX_NOPERM
        case .session(.notAUser): EX_USAGE
        case .agent(.inputOutput), .session(.inputOutput), .system: EX_IOERR
        case .service(.usage): EX_USAGE
        case .service(.notInstalled): EX_NOINPUT
        case .service(.unavailable), .service(.refused): EX_UNAVAILABLE
        case .service(.foreign), .service(.cannotWrite): EX_CANTCREAT
        case .service(.notAllowed): EX_NOPERM
        case .service(.inexpressible): EX_CONFIG
        case .agent(.configuration), .configuration, .objection, .session(.mayNotTravel), .session(.keysOnly): EX_CONFIG
        case .avatar(let trouble): Self.status(trouble.kind)
        }
    }

    private static func status(_ trouble: AvatarTrouble.Kind) -> Int32 {
        switch trouble {
        case .usage: EX_USAGE
        case .notAllowed: EX_NOPERM
        case .refused: 1
        case .later: EX_TEMPFAIL
        case .noWorker: EX_UNAVAILABLE
        case .storage: EX_IOERR
        }
    }

    /// The error message: what failed, for which path or key, why, and what to do.
    var lines: [String] {
        switch self {
        case .answerIsNo: []
        case .noSuchFile(let name, let reason): ["\(DisplayText.escaped(name)): \(reason)"]
        case .partOfPost(let name, let post):
            [
                "\(DisplayText.escaped(name)): this directory is part of the post \(DisplayText.escaped(post)); submit that"
            ]
        case .control(let error): ["\(error)"]
        case .agent(let error): ["\(error)"]
        case .configuration(let errors, let all): (all ? errors.all : [errors.first]).map(\.description)
        case .objection(let error): ["\(error)"]
        case .service(let error): ["\(error)"]
        case .session(let error): ["\(error)"]
        case .avatar(let trouble): [DisplayText.escaped("\(trouble)")]
        case .tryAgain(let what), .unavailable(let what): [what]
        case .system(let reason): [reason]
        }
    }
}

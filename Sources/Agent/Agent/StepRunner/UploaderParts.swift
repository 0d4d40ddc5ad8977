import AgentConfiguration
import Clocks
import ControlAPI
import Digests
import Hooks
import Intake
import Ledger
import Logging
import Portrait
import Products
import Remotes
import Session
import Sidecars
import UploadCore

/// The components that the uploader uses.
struct UploaderParts: Sendable {
    var ledger: Ledger
    var acknowledgements: AcknowledgementLog
    var remote: any Remote
    var files: OutboxFiles
    var rules: IntakeRules
    var holding: HoldingArea
    /// What to do with a file after the server confirmed its content.
    var afterUpload: Configuration.AfterUpload
    /// Where `intake.after_upload = "move"` moves files to, relative to the outbox.
    var moveTo: RelativePath
    var hashPool: HashPool
    var secret: DigestSecret
    var sidecars: SidecarWriter
    /// Measures pictures and videos; `nil` if the configuration disables it.
    var media: (any MediaExamining)?
    /// Makes what is uploaded in place of files; `nil` if no type of file has a recipe.
    var products: ProductMaker?
    /// What is done to files before their upload.
    var recipes = Recipes()
    var productLimits = ProductQueue.Limits()
    /// How many contents may wait for their examination in memory.
    var examinationRoom = Examinations.room
    /// Handles files of the portrait folder as profile pictures; `nil` without such a folder.
    var portrait: (service: PortraitService, folder: RelativePath)?
    /// Commits posts; `nil` if the protocol has no posts. A source is then done when its files are.
    var sources: (any SourceRemote)?
    /// Publishes events to the clients of the control interface.
    var events: EventHub
    var session: SessionKeeper
    /// Remembers `pause --all` beside the ledger; `nil` if nothing does.
    var pauseMark: PauseMark?
    var retention: Duration
    /// How long the journal keeps an outcome.
    var historyKeep = Duration.seconds(365 * 24 * 3600)
    /// Told of outcomes; `nil` without hooks.
    var hooks: HookDesk?
    /// Sent while all is well; `nil` if nobody wants it.
    var heartbeat: Heartbeat?
    var remoteProtocol: String
    /// Reported by `/v1/health`.
    var version: String
    var processID: Int32
    var clock: any Clocks
    /// Called after every change that may affect the agent's status. Must be cheap.
    var onChange: @Sendable () -> Void = {}
    var logger: Logger

    /// What happens to files after their upload.
    var fate: Retirement.Fate {
        switch afterUpload {
        case .keep: .stay
        case .move: .move(to: moveTo)
        case .delete: .delete
        }
    }
}

import AgentConfiguration
import Intake
import UploadCore

extension IntakeRules {
    /// The rules of a configuration.
    init(_ configuration: Configuration) {
        let intake = configuration.intake
        self.init(
            mediaOnly: intake.mediaOnly, maxFileSize: intake.maxFileSize, ignore: intake.ignore,
            moveTo: RelativePath(intake.moveTo))
    }
}

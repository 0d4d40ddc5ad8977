import AgentSupport
import UploadCore

extension Configuration {
    /// A contradiction between keys that are valid on their own.
    struct RuleViolation {
        /// The contradicting keys. The error names the first one that the user set.
        let keys: [String]
        let reason: String
    }

    var ruleViolations: [RuleViolation] {
        var violations: [RuleViolation] = []
        func check(_ isRight: Bool, _ keys: String..., reason: @autoclosure () -> String) {
            if !isRight { violations.append(RuleViolation(keys: keys, reason: reason())) }
        }

        check(
            !PathResolver.lies(state, in: outbox), "state", "outbox",
            reason: "state must not lie inside the outbox (\(outbox))")
        check(
            state == outbox || !PathResolver.lies(outbox, in: state), "outbox", "state",
            reason: "the outbox must not lie inside state (\(state))")
        check(
            !PathResolver.lies(avatars, in: outbox), "avatars", "outbox",
            reason: "avatars must not lie inside the outbox (\(outbox)), or its pictures would be uploaded")
        check(
            avatars == outbox || !PathResolver.lies(outbox, in: avatars), "outbox", "avatars",
            reason: "the outbox must not lie inside avatars (\(avatars)), where the agent removes old pictures")
        if let directory = sidecars.directory {
            check(
                !PathResolver.lies(directory, in: outbox), "sidecars.directory", "outbox",
                reason: "must not lie inside the outbox (\(outbox)); \"\" puts sidecars beside the files")
        }
        check(
            !PathResolver.lies("/" + portrait.folder, in: "/" + intake.moveTo)
                && !PathResolver.lies("/" + intake.moveTo, in: "/" + portrait.folder),
            "portrait.folder", "intake.move_to",
            reason: "portrait.folder and intake.move_to must be different directories, neither inside the other")
        check(
            remote.protocol != .filesection || upload.fragmentSize == UInt64(FragmentPlan.sectionSize),
            "upload.fragment_size",
            reason: "must be \"512KiB\" with protocol \"filesection\", is \"\(Units.spell(upload.fragmentSize))\"")
        check(
            upload.fragmentSize % UInt64(ContentSeal.blockSize) == 0, "upload.fragment_size",
            reason: "must be a multiple of 512KiB, is \"\(Units.spell(upload.fragmentSize))\"")
        check(
            remote.protocol != .s3 || remote.bucket != nil, "remote.bucket", "remote.protocol",
            reason: "protocol \"s3\" needs a bucket; set remote.bucket")
        return violations
    }
}

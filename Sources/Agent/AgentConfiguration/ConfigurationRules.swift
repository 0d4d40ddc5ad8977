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
            upload.fragmentSize == UInt64(FragmentPlan.sectionSize), "upload.fragment_size",
            reason: "must be \"512KiB\" with protocol \"filesection\", and with the others; set remote.part_size for "
                + "\"s3\", remote.max_patch for \"tus\"")
        let lossy = media.compressImages ? "media.compress_images" : "media.transcode_video"
        check(
            intake.afterUpload != .delete || media.deleteOriginals || !(media.compressImages || media.transcodeVideo),
            "intake.after_upload", lossy, "media.delete_originals",
            reason: "\"delete\" with \(lossy) would delete originals of which the server has only a smaller copy; use "
                + "\"move\", or set media.delete_originals = true")
        return violations + remote.ruleViolations
    }
}

extension Configuration.Remote {
    /// The contradictions between the keys of `[remote]`.
    fileprivate var ruleViolations: [Configuration.RuleViolation] {
        var violations: [Configuration.RuleViolation] = []
        func check(_ isRight: Bool, _ keys: String..., reason: String) {
            if !isRight { violations.append(Configuration.RuleViolation(keys: keys, reason: reason)) }
        }

        let defaults = Configuration.Remote()
        for (key, owner, isDefault) in Self.keysOfOneProtocol where owner != self.protocol && !isDefault(self, defaults)
        {
            check(
                false, "remote.\(key)",
                reason: "belongs to protocol \"\(owner.rawValue)\", and remote.protocol is "
                    + "\"\(self.protocol.rawValue)\"; remove the key, or correct the protocol")
        }
        check(
            self.protocol == .tus || !writtenURL.utf8.contains(UInt8(ascii: "{")), "remote.url", "remote.protocol",
            reason: "{key} and {ext} have a meaning with protocol \"tus\" only")
        check(
            self.protocol != .s3 || bucket != nil, "remote.bucket", "remote.protocol",
            reason: "protocol \"s3\" needs a bucket; set remote.bucket")
        check(
            (accessKeyFile == nil) == (secretKeyFile == nil), "remote.access_key_file", "remote.secret_key_file",
            reason: "remote.access_key_file and remote.secret_key_file belong together; set both or none")
        check(
            (maxPatch ?? 0) % UInt64(ContentSeal.blockSize) == 0, "remote.max_patch",
            reason: "must be a multiple of 512KiB")
        check(
            (partSize ?? 0) % UInt64(ContentSeal.blockSize) == 0, "remote.part_size",
            reason: "must be a multiple of 512KiB")
        for (key, template) in [("remote.key", key), ("remote.name", name)] {
            do throws(NameTemplate.Objection) {
                _ = try NameTemplate(template)
            } catch {
                check(false, key, reason: error.description)
            }
        }
        return violations
    }

    /// The keys that have no meaning with another protocol, and whether two configurations agree in them.
    private static var keysOfOneProtocol:
        [(key: String, owner: Configuration.RemoteProtocol, isSame: (Self, Self) -> Bool)]
    {
        func same<Value: Equatable>(_ path: KeyPath<Self, Value>) -> (Self, Self) -> Bool {
            { $0[keyPath: path] == $1[keyPath: path] }
        }
        return [
            ("max_patch", .tus, same(\.maxPatch)), ("creation_with_upload", .tus, same(\.creationWithUpload)),
            ("name", .tus, same(\.name)),
            ("bucket", .s3, same(\.bucket)), ("region", .s3, same(\.region)),
            ("prefix", .s3, same(\.prefix)), ("path_style", .s3, same(\.pathStyle)), ("key", .s3, same(\.key)),
            ("access_key_file", .s3, same(\.accessKeyFile)), ("secret_key_file", .s3, same(\.secretKeyFile)),
            ("profile", .s3, same(\.profile)), ("credentials_file", .s3, same(\.credentialsFile)),
            ("checksum", .s3, same(\.checksum)), ("storage_class", .s3, same(\.storageClass)),
            ("server_side_encryption", .s3, same(\.serverSideEncryption)), ("sse_kms_key_id", .s3, same(\.sseKMSKeyID)),
            ("acl", .s3, same(\.acl)), ("part_size", .s3, same(\.partSize)),
        ]
    }
}

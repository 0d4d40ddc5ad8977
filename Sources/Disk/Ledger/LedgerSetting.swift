/// Names of the ledger's settings.
public enum LedgerSetting {
    /// The scope of the last run. Read only if `server` is missing.
    public static let scope = "scope"
    /// The server of the last run. With an account appended: the server of that account's last run.
    public static let server = "server"
    /// The owner of records in earlier formats; empty if they have none.
    public static let legacyAccount = "account/legacy"
    /// The fingerprint of the rules that rejected files were judged by.
    public static let rules = "intake/rules"
    /// The fingerprint of the recipes that files were processed by; empty if there were none.
    public static let recipes = "media/recipes"
    /// The folder of profile pictures; empty if there is none.
    public static let portraitFolder = "portrait/folder"
    /// Present while everything is paused.
    public static let allPaused = "paused"
    /// Present while paths may wait for an account that is not signed in.
    public static let others = "account/others"
    /// Present if the last run left nothing for the next one to catch up on; says for which machine start and which
    /// configuration that holds.
    public static let caughtUp = "caught-up"
    /// The actions on many files that are not carried out yet.
    public static let bulkActions = "bulk"
    /// When an agent last looked at the clock, and when the retention of outcomes began anew.
    public static let clock = "clock"
    /// The last row of the journal that a hook needs no more.
    public static func hook(_ name: String) -> String { "hook/\(name)" }
    /// The identity of the outbox directory.
    public static let outbox = "outbox"
    /// The absolute path of that directory.
    public static let outboxPath = "outbox/path"
    /// Why the ledger was replaced. Kept until the first full scan of the outbox after that.
    public static let recovery = "recovery"
    /// The places that may hold sidecars, separated by zero bytes: the values of `sidecars.directory` since the sidecars at
    /// former places were last removed.
    public static let sidecarPlaces = "sidecars/root"
}

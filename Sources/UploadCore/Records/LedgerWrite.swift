/// One change of the persistent state, as plain data: whoever decides it need not know how it is stored.
public enum LedgerWrite: Equatable, Sendable {
    /// Stores what is known of a path.
    case drop(DropRecord)
    /// Forgets a path.
    case forgetDrop(RelativePath)
    /// Stores an upload, without touching its fragments.
    case upload(UploadRecord)
    /// Stores one page of an upload's fragment states.
    case fragments(ContentKey, FragmentPage)
    /// Sets all fragments of an upload back to waiting.
    case forgetFragments(ContentKey)
    /// Forgets an upload, its fragment states and its block digests.
    case forgetUpload(ContentKey)
    /// Stores the keyed digests of a content's blocks of 512 KiB, in order.
    case digests(ContentKey, [UInt64])
    /// Records that a server has a content.
    case confirmation(Confirmation)
    /// Takes a confirmation back.
    case forgetConfirmation(ContentKey, RemoteScope)
    /// Keeps a small value by name; nil removes it.
    case setting(String, [UInt8]?)
}

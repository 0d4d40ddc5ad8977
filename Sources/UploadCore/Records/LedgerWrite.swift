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
    /// Sets an upload of another account aside, with its fragment states, as it is stored: the content's place is free for
    /// the present account's upload. Nothing happens where none is stored.
    case park(ContentKey)
    /// Brings back an upload that was set aside; where none is, nothing happens.
    case unpark(ContentKey, RemoteScope)
    /// Forgets an upload that was set aside, and the block digests where no other upload needs them.
    case forgetParked(ContentKey, RemoteScope)
    /// Stores what is known of a source.
    case source(SourceRecord)
    /// Forgets a source, by its id.
    case forgetSource(String)
    /// Keeps a small value by name; nil removes it.
    case setting(String, [UInt8]?)
}

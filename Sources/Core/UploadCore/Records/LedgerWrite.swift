/// One change of the persistent state, as plain data, independent of the storage format.
///
/// Changes, events and actions pass through several lists. So cases with much data are indirect: a copy is one pointer.
public enum LedgerWrite: Equatable, Sendable {
    /// Stores the record of a path.
    indirect case drop(DropRecord)
    /// Deletes the record of a path.
    case forgetDrop(RelativePath)
    /// Stores an upload, without touching its fragments.
    indirect case upload(UploadRecord)
    /// Stores one page of an upload's fragment states.
    case fragments(ContentKey, FragmentPage)
    /// Resets all fragments of an upload to waiting.
    case forgetFragments(ContentKey)
    /// Deletes an upload, its fragment states and its block digests.
    case forgetUpload(ContentKey)
    /// Stores the keyed digests of a content's blocks of 512 KiB, in order.
    case digests(ContentKey, [UInt64])
    /// Records that a server has a content.
    indirect case confirmation(Confirmation)
    /// Deletes a confirmation.
    case forgetConfirmation(ContentKey, RemoteScope)
    /// Parks an upload of another account with its fragment states, unchanged. The present account can then upload the
    /// content itself. No effect if the ledger holds no such upload.
    case park(ContentKey)
    /// Restores a parked upload. No effect if there is none.
    case unpark(ContentKey, RemoteScope)
    /// Deletes a parked upload, and its block digests unless another upload needs them.
    case forgetParked(ContentKey, RemoteScope)
    /// Records what a recipe made of a content.
    case product(ProductRecord)
    /// Stores the record of a source.
    indirect case source(SourceRecord)
    /// Deletes the record of a source, by id.
    case forgetSource(String)
    /// Records that this upload is to be deleted on the server.
    case removal(RemoteHandle, RemoteScope)
    /// Deletes such a record.
    case forgetRemoval(RemoteHandle, RemoteScope)
    /// Appends a row to the journal, under its number unless the journal has later ones.
    indirect case outcome(JournalEntry)
    /// Records that the file of a path's last outcome has another path now. No effect if the journal has none.
    indirect case place(RelativePath, now: RelativePath)
    /// Deletes the rows of the journal before a number, some hundred of them.
    case trimJournal(before: UInt64)
    /// Stores a small value by name; nil deletes the value.
    case setting(String, [UInt8]?)
}

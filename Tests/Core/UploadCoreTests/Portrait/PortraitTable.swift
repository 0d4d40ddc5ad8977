extension PortraitTableTests {
    /// The phase and the actions that follow from each event in each state. Missing events change nothing.
    static let expected = """
        nothing:
          another is dropped → idle: b.jpg queued, prepare 1
          another is taken → sending: shown: b.jpg, b.jpg queued, note 1, upload 1 as #1, b.jpg uploading
          removed → idle: a.jpg cancelled (removed)
        preparing:
          another is dropped → idle: b.jpg queued
          another is taken → ready, stopping: cancel #1, a.jpg cancelled (superseded), shown: b.jpg, b.jpg queued
          removed → idle: a.jpg cancelled (removed)
          paused → idle: a.jpg paused
          resumed → idle: a.jpg queued
          all paused → idle: a.jpg paused
          session refused → idle: a.jpg cancelled (session_refused)
          signed out → idle: a.jpg cancelled (session_refused)
        sending:
          another is dropped → sending: b.jpg queued, prepare 2
          another is taken → ready, stopping: cancel #1, a.jpg cancelled (superseded), shown: b.jpg, b.jpg queued
          it succeeds → settling done: settle 1 done, a.jpg verifying, now: a.jpg verifying
          trouble → waiting: note 1, a.jpg waiting (server_error), now: a.jpg waiting
          refusal → settling failed: settle 1 failed
          401 → settling cancelled: settle 1 cancelled
          it ends → waiting: note 1, a.jpg waiting (interrupted), now: a.jpg waiting
          removed → settling cancelled, stopping: cancel #1, settle 1 cancelled
          renamed → sending: note 1, now: c.jpg uploading
          paused → ready, stopping: note 1, cancel #1, a.jpg paused, now: a.jpg paused
          all paused → ready, stopping: cancel #1, a.jpg paused, now: a.jpg paused
          session refused → settling cancelled, stopping: cancel #1, settle 1 cancelled
          signed out → settling cancelled, stopping: cancel #1, settle 1 cancelled
        waiting:
          another is dropped → waiting: b.jpg queued, prepare 2
          another is taken → sending: a.jpg cancelled (superseded), shown: b.jpg, b.jpg queued, note 2, upload 2 \
        as #2, b.jpg uploading
          removed → settling cancelled: settle 1 cancelled
          renamed → waiting: note 1, now: c.jpg waiting
          paused → waiting: note 1, a.jpg paused (server_error), now: a.jpg paused
          all paused → waiting: a.jpg paused (server_error), now: a.jpg paused
          retried → sending: a.jpg queued, note 1, upload 1 as #2, a.jpg uploading, now: a.jpg uploading
          new credentials → sending: a.jpg queued, note 1, upload 1 as #2, a.jpg uploading, now: a.jpg uploading
          session refused → settling cancelled: settle 1 cancelled
          session works → sending: a.jpg queued, note 1, upload 1 as #2, a.jpg uploading, now: a.jpg uploading
          signed out → settling cancelled: settle 1 cancelled
          network → sending: a.jpg queued, note 1, upload 1 as #2, a.jpg uploading, now: a.jpg uploading
          time → sending: note 1, upload 1 as #2, a.jpg uploading, now: a.jpg uploading
        paused:
          another is dropped → ready: b.jpg queued, prepare 2
          another is taken → sending: a.jpg cancelled (superseded), shown: b.jpg, b.jpg queued, note 2, upload 2 \
        as #2, b.jpg uploading
          removed → settling cancelled: settle 1 cancelled
          renamed → ready: note 1, now: c.jpg paused
          resumed → sending: note 1, a.jpg queued, note 1, upload 1 as #2, a.jpg uploading, now: a.jpg uploading
          all paused → ready: a.jpg paused
          session refused → settling cancelled: settle 1 cancelled
          signed out → settling cancelled: settle 1 cancelled
        stopping:
          another is dropped → ready, stopping: b.jpg queued, prepare 2
          another is taken → ready, stopping: a.jpg cancelled (superseded), shown: b.jpg, b.jpg queued
          it succeeds → settling done: settle 1 done, a.jpg verifying, now: a.jpg verifying
          trouble → sending: note 1, upload 1 as #2, a.jpg uploading, now: a.jpg uploading
          refusal → sending: note 1, upload 1 as #2, a.jpg uploading, now: a.jpg uploading
          401 → sending: note 1, upload 1 as #2, a.jpg uploading, now: a.jpg uploading
          it ends → sending: note 1, upload 1 as #2, a.jpg uploading, now: a.jpg uploading
          removed → settling cancelled, stopping: settle 1 cancelled
          renamed → ready, stopping: note 1, now: c.jpg queued
          paused → ready, stopping: note 1, a.jpg paused, now: a.jpg paused
          all paused → ready, stopping: a.jpg paused, now: a.jpg paused
          session refused → settling cancelled, stopping: settle 1 cancelled
          signed out → settling cancelled, stopping: settle 1 cancelled
        signed out:
          another is dropped → signed out: b.jpg queued, prepare 2
          another is taken → signed out: a.jpg cancelled (superseded), shown: b.jpg, b.jpg signedOut (signed_out)
          removed → settling cancelled: settle 1 cancelled
          renamed → signed out: note 1, now: c.jpg signedOut
          paused → signed out: note 1, a.jpg paused (signed_out), now: a.jpg paused
          all paused → signed out: a.jpg paused (signed_out), now: a.jpg paused
          retried → sending: a.jpg queued, note 1, upload 1 as #1, a.jpg uploading, now: a.jpg uploading
          new credentials → sending: a.jpg queued, note 1, upload 1 as #1, a.jpg uploading, now: a.jpg uploading
          session works → sending: a.jpg queued, note 1, upload 1 as #1, a.jpg uploading, now: a.jpg uploading
          signed out → settling cancelled: settle 1 cancelled
          time → sending: note 1, upload 1 as #1, a.jpg uploading, now: a.jpg uploading
        confirming:
          another is dropped → settling done: b.jpg queued, prepare 2
          it is durable → idle: done: a.jpg u, a.jpg done
          renamed → settling done: note 1, now: c.jpg verifying
        done:
          another is dropped → idle: b.jpg queued, prepare 2
          another is taken → sending: shown: b.jpg, b.jpg queued, note 2, upload 2 as #2, b.jpg uploading
          removed → idle: a.jpg cancelled (removed)
          renamed → idle: note 1
        refused:
          another is dropped → idle: b.jpg queued, prepare 2
          another is taken → sending: shown: b.jpg, b.jpg queued, note 2, upload 2 as #2, b.jpg uploading
          removed → idle: a.jpg cancelled (removed)
          renamed → idle: note 1
        """
}

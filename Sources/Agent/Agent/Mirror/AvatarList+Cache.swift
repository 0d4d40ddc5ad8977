import Text
import Avatars
import ControlAPI
import LinuxSystem
import Reports
import UploadCore

extension AvatarList.Picture {
    init(_ entry: AvatarEntry, now: WallTime) {
        let fetched = WallTime(milliseconds: entry.record.fetchedAt)
        let freshUntil = WallTime(milliseconds: entry.record.freshUntil)
        self.init(
            url: entry.record.url, type: entry.record.type, size: entry.size, styles: entry.styles,
            styled_size: entry.styledSize, fetched_at: Timestamp.text(fetched),
            fresh_until: Timestamp.text(freshUntil), fresh: now.milliseconds < freshUntil.milliseconds,
            used_at: Timestamp.text(entry.usedAt), age: now.seconds(since: fetched),
            unused: now.seconds(since: entry.usedAt))
    }
}

extension AvatarList.Failure {
    init(_ entry: AvatarBlacklistEntry, now: WallTime) {
        self.init(
            url: entry.url, code: entry.code, message: entry.message, until: Timestamp.text(entry.until),
            remaining: entry.until.seconds(since: now))
    }
}

extension AvatarTrouble {
    /// Describes a failure of the cache in the control interface's words.
    ///
    /// - Parameter until: When the URL may be asked again; nil if it is not put off.
    init(_ failure: AvatarFailure, of address: AvatarAddress, until: WallTime?, now: WallTime) {
        let pause = until.map { until in
            "; not asked again for \(Quantity.duration(seconds: until.seconds(since: now))), "
                + "`outbox avatar clear` resets this"
        }
        let text = failure.description.contains(address.url) ? failure.description : "\(address.url): \(failure)"
        self.init(failure.code, text + (pause ?? ""), until: until.map(Timestamp.text))
    }
}

extension WallTime {
    static func now() -> WallTime { WallTime(milliseconds: wallTimeMilliseconds()) }

    /// Whole seconds since an earlier moment; 0 if `earlier` is later.
    fileprivate func seconds(since earlier: WallTime) -> UInt64 {
        UInt64(max(0, milliseconds.subtractingReportingOverflow(earlier.milliseconds).partialValue) / 1000)
    }
}

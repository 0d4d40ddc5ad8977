import Testing
import Transport
import UploadCore

@testable import Avatars

struct `How long a picture is fresh` {
    private static let day = 86_400
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let hourLater = "Sun, 06 Nov 1994 09:49:37 GMT"

    private static let table: [(headers: HTTPFields, seconds: Int)] = [
        ([:], day),
        (["Cache-Control": "max-age=60"], 60),
        (["cache-control": "MAX-AGE=60"], 60),
        (["Cache-Control": "public, max-age=60 , immutable"], 60),
        (["Cache-Control": "max-age=\"60\""], 60),
        (["Cache-Control": "max-age=0"], 0),
        (["Cache-Control": "max-age=60, max-age=90"], 60),
        (["Cache-Control": "max-age=60", "Cache-control": "max-age=30"], 30),
        (["Cache-Control": "max-age=99999999999999999999"], 365 * day),
        (["Cache-Control": "max-age=soon"], 0),
        (["Cache-Control": "max-age=-1"], 0),
        (["Cache-Control": "max-age"], 0),
        (["Cache-Control": "s-maxage=5"], day),
        (["Cache-Control": "private"], day),
        (["Cache-Control": "must-revalidate"], day),
        (["Cache-Control": ""], day),
        (["Cache-Control": "no-cache"], 0),
        (["Cache-Control": "No-Store"], 0),
        (["Cache-Control": "max-age=60, no-cache"], 0),
        (["Cache-Control": "no-cache=\"Set-Cookie\", max-age=60"], 0),
        (["Cache-Control": "x=\"a, no-cache\", max-age=60"], 60),
        (["Pragma": "no-cache"], 0),
        (["Pragma": "no-cache", "Cache-Control": "max-age=60"], 60),
        (["Expires": hourLater, "Date": date], 3600),
        (["Expires": date, "Date": hourLater], 0),
        (["Expires": hourLater], 0),
        (["Expires": "0", "Date": date], 0),
        (["Expires": "-1"], 0),
        (["Expires": "0", "Cache-Control": "max-age=60"], 60),
        (["Expires": hourLater, "Date": date, "Age": "600"], 3000),
        (["Cache-Control": "max-age=60", "Age": "20"], 40),
        (["Cache-Control": "max-age=60", "Age": "61"], 0),
        (["Cache-Control": "max-age=60", "Age": "old"], 60),
        (["Age": "3600"], day - 3600),
        (["Cache-Control": "max-age=60", "Date": date], 60),
    ]

    @Test(arguments: table)
    func `what a server says counts, and a day where it says nothing`(headers: HTTPFields, seconds: Int) {
        #expect(Freshness(headers).lifetime == .seconds(seconds))
    }

    @Test func `it counts from when the reply came`() {
        let time = WallTime(milliseconds: 1_000_000)
        #expect(Freshness(["Cache-Control": "max-age=60"]).until(receivedAt: time) == WallTime(milliseconds: 1_060_000))
    }
}

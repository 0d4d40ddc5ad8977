import HTTPTypes
import Testing
import UploadCore

@testable import Avatars

struct `How long a picture is fresh` {
    private static let day = 86_400
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let hourLater = "Sun, 06 Nov 1994 09:49:37 GMT"

    private static let pragma = HTTPField.Name("Pragma") ?? .cacheControl

    private static let table: [(headers: HTTPFields, seconds: Int)] = [
        ([:], day),
        ([.cacheControl: "max-age=60"], 60),
        ([.cacheControl: "MAX-AGE=60"], 60),
        ([.cacheControl: "public, max-age=60 , immutable"], 60),
        ([.cacheControl: "max-age=\"60\""], 60),
        ([.cacheControl: "max-age=0"], 0),
        ([.cacheControl: "max-age=60, max-age=90"], 60),
        ([.cacheControl: "max-age=60", .cacheControl: "max-age=30"], 30),
        ([.cacheControl: "max-age=99999999999999999999"], 365 * day),
        ([.cacheControl: "max-age=soon"], 0),
        ([.cacheControl: "max-age=-1"], 0),
        ([.cacheControl: "max-age"], 0),
        ([.cacheControl: "s-maxage=5"], day),
        ([.cacheControl: "private"], day),
        ([.cacheControl: "must-revalidate"], day),
        ([.cacheControl: ""], day),
        ([.cacheControl: "no-cache"], 0),
        ([.cacheControl: "No-Store"], 0),
        ([.cacheControl: "max-age=60, no-cache"], 0),
        ([.cacheControl: "no-cache=\"Set-Cookie\", max-age=60"], 0),
        ([.cacheControl: "x=\"a, no-cache\", max-age=60"], 60),
        ([pragma: "no-cache"], 0),
        ([pragma: "no-cache", .cacheControl: "max-age=60"], 60),
        ([.expires: hourLater, .date: date], 3600),
        ([.expires: date, .date: hourLater], 0),
        ([.expires: hourLater], 0),
        ([.expires: "0", .date: date], 0),
        ([.expires: "-1"], 0),
        ([.expires: "0", .cacheControl: "max-age=60"], 60),
        ([.expires: hourLater, .date: date, .age: "600"], 3000),
        ([.cacheControl: "max-age=60", .age: "20"], 40),
        ([.cacheControl: "max-age=60", .age: "61"], 0),
        ([.cacheControl: "max-age=60", .age: "old"], 60),
        ([.age: "3600"], day - 3600),
        ([.cacheControl: "max-age=60", .date: date], 60),
    ]

    @Test(arguments: table)
    func `what a server says counts, and a day where it says nothing`(headers: HTTPFields, seconds: Int) {
        #expect(Freshness(headers).lifetime == .seconds(seconds))
    }

    @Test func `it counts from when the reply came`() {
        let time = WallTime(milliseconds: 1_000_000)
        #expect(Freshness([.cacheControl: "max-age=60"]).until(receivedAt: time) == WallTime(milliseconds: 1_060_000))
    }
}

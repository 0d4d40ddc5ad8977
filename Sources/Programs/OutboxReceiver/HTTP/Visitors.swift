import Glibc
import NIOCore
import Synchronization

/// The open connections, limited in total and per address.
///
/// At the limit, the oldest connection that is not vouched for is closed: an idle or refused connection, or one that
/// has shown no token yet. So peers without a token cannot lock out peers with a token. Nor can one user or can the guests,
/// who merely have a link, lock out another user: they are vouched for up to a part of the limits, and whoever has the most
/// connections makes room for others.
final class Visitors: Sendable {
    private let seats: Mutex<(plan: SeatPlan, channels: [ObjectIdentifier: any Channel])>

    init(total: Int, perAddress: Int) {
        seats = Mutex((SeatPlan(total: total, perAddress: perAddress), [:]))
    }

    /// Registers a connection. At the limit, closes another connection, or this one if all others are vouched for.
    func arrive(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let leaving = seats.withLock { seats in
            seats.channels[id] = channel
            return seats.plan.seat(id, from: VisitorAddress(channel.remoteAddress?.ipAddress)).flatMap {
                seats.channels[$0]
            }
        }
        leaving?.close(promise: nil)
    }

    func leave(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        seats.withLock { seats in
            seats.channels[id] = nil
            seats.plan.free(id)
        }
    }

    /// Protects a connection while it serves a request of this kind of visitor.
    func vouch(for channel: any Channel, as visitor: SeatPlan.Visitor) {
        seats.withLock { $0.plan.vouch(for: ObjectIdentifier(channel), as: visitor) }
    }

    /// Ends the protection after the request is answered.
    func rest(_ channel: any Channel) {
        seats.withLock { $0.plan.vouch(for: ObjectIdentifier(channel), as: nil) }
    }
}

/// Decides which connections stay open.
struct SeatPlan {
    /// Who is vouched for.
    enum Visitor: Hashable {
        /// A user, who showed a token or a session.
        case user(String)
        /// Everybody with the secret part of a URL.
        case guest

        /// The part of a limit up to which the visitor is vouched for.
        func share(of limit: Int) -> Int { self == .guest ? limit / 4 : (limit + 1) / 2 }
    }

    private struct Seat {
        let number: UInt64
        let address: VisitorAddress
        var visitor: Visitor?
    }

    private let total: Int
    private let perAddress: Int
    private var seats: [ObjectIdentifier: Seat] = [:]
    private var counts: [VisitorAddress: Int] = [:]
    private var lastNumber: UInt64 = 0

    init(total: Int, perAddress: Int) {
        self.total = total
        self.perAddress = perAddress
    }

    /// - Returns: The connection to close: the new one itself if all others are vouched for. Nil if there is room.
    mutating func seat(_ id: ObjectIdentifier, from address: VisitorAddress) -> ObjectIdentifier? {
        var leaving: ObjectIdentifier?
        if counts[address, default: 0] >= perAddress {
            leaving = oldest { $0.address == address } ?? id
        } else if seats.count >= total {
            leaving = oldest { _ in true } ?? id
        }
        // Free the seat at once: closing takes a moment, and the next arrival must not pick the same connection.
        if let leaving { free(leaving) }
        guard leaving != id else { return id }
        lastNumber += 1
        seats[id] = Seat(number: lastNumber, address: address)
        counts[address, default: 0] += 1
        return leaving
    }

    private func oldest(_ isMeant: (Seat) -> Bool) -> ObjectIdentifier? {
        seats.filter { $0.value.visitor == nil && isMeant($0.value) }.min { $0.value.number < $1.value.number }?.key
    }

    /// Does nothing for a connection without a seat.
    mutating func free(_ id: ObjectIdentifier) {
        guard let seat = seats.removeValue(forKey: id) else { return }
        let count = counts[seat.address, default: 0] - 1
        counts[seat.address] = count > 0 ? count : nil
    }

    /// - Parameter visitor: Nil ends the protection. There is none beyond the visitor's share.
    mutating func vouch(for id: ObjectIdentifier, as visitor: Visitor?) {
        guard let seat = seats[id], seat.visitor != visitor else { return }
        if let visitor {
            guard makeRoom(for: visitor, of: total, where: { _ in true }),
                makeRoom(for: visitor, of: perAddress, where: { $0.address == seat.address })
            else { return }
        }
        seats[id]?.visitor = visitor
    }

    /// Returns whether one more of these seats may be protected for a visitor. If too many are, the visitor with the most
    /// loses the protection of its oldest.
    private mutating func makeRoom(for visitor: Visitor, of limit: Int, where isMeant: (Seat) -> Bool) -> Bool {
        var (protected, own) = (0, 0)
        for seat in seats.values where seat.visitor != nil && isMeant(seat) {
            protected += 1
            if seat.visitor == visitor { own += 1 }
        }
        guard own < visitor.share(of: limit) else { return false }
        // Some seats are for those who have shown no token yet.
        guard protected >= limit - limit / 8 else { return true }
        let owned = Dictionary(grouping: seats.filter { $0.value.visitor != nil && isMeant($0.value) }) {
            $0.value.visitor
        }
        guard let most = owned.values.max(by: { $0.count < $1.count }), most.count > own + 1,
            let oldest = most.min(by: { $0.value.number < $1.value.number })?.key
        else { return false }
        seats[oldest]?.visitor = nil
        return true
    }
}

/// The unit for the limit per address: an IPv4 address, or the first 64 bits of an IPv6 address. These 64 bits name a
/// network (RFC 4291, 2.5.4), and one host can use all addresses of its network.
struct VisitorAddress: Hashable {
    private let bytes: [UInt8]

    /// - Parameter ip: An address as text. All other values share one address.
    init(_ ip: String?) {
        let all = ip.flatMap { IPAddress.bytes($0) } ?? []
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xff, 0xff]
        // ::ffff:192.0.2.1 is an IPv4 address (RFC 4291, 2.5.5.2).
        bytes = all.starts(with: mapped) ? Array(all[12...]) : Array(all.prefix(all.count == 16 ? 8 : 4))
    }
}

/// Parses IP addresses (man 3 inet_pton).
enum IPAddress {
    /// Returns 4 bytes for IPv4, 16 for IPv6, and nil for anything else. Ignores the zone of a link-local address.
    static func bytes(_ text: String) -> [UInt8]? {
        let text = String(text.prefix { $0 != "%" })
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes[..<4]) }
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }
}

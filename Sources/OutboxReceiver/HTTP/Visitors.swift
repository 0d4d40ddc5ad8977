import NIOCore
import Synchronization

/// The connections there are, bounded in all and for each address.
///
/// When there is no room for another, the oldest connection that is not vouched for gives way: one that is idle, that
/// was refused, or that has not shown a token yet. So peers without a token can't lock out those with one.
final class Visitors: Sendable {
    private let seats: Mutex<(plan: SeatPlan, channels: [ObjectIdentifier: any Channel])>

    init(total: Int, perAddress: Int) {
        seats = Mutex((SeatPlan(total: total, perAddress: perAddress), [:]))
    }

    /// Seats the connection, and closes one that must give way: another, or this one if all others are busy.
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

    /// The connection's request has shown a token, or the secret part of a URL, and is being served.
    func vouch(for channel: any Channel) {
        seats.withLock { $0.plan.vouch(true, for: ObjectIdentifier(channel)) }
    }

    /// The connection's request has been answered.
    func rest(_ channel: any Channel) {
        seats.withLock { $0.plan.vouch(false, for: ObjectIdentifier(channel)) }
    }
}

/// Who sits where, and who gives way.
struct SeatPlan {
    private struct Seat {
        let number: UInt64
        let address: VisitorAddress
        var isVouchedFor = false
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

    /// - Returns: Who gives way; the newcomer itself where everybody else is vouched for; nil where there is room.
    mutating func seat(_ id: ObjectIdentifier, from address: VisitorAddress) -> ObjectIdentifier? {
        var leaving: ObjectIdentifier?
        if counts[address, default: 0] >= perAddress {
            leaving = oldest { $0.address == address } ?? id
        } else if seats.count >= total {
            leaving = oldest { _ in true } ?? id
        }
        // Free at once: closing takes a moment, and the next one must not find the same one again.
        if let leaving { free(leaving) }
        guard leaving != id else { return id }
        lastNumber += 1
        seats[id] = Seat(number: lastNumber, address: address)
        counts[address, default: 0] += 1
        return leaving
    }

    private func oldest(_ isMeant: (Seat) -> Bool) -> ObjectIdentifier? {
        seats.filter { !$0.value.isVouchedFor && isMeant($0.value) }.min { $0.value.number < $1.value.number }?.key
    }

    /// Does nothing for somebody without a seat.
    mutating func free(_ id: ObjectIdentifier) {
        guard let seat = seats.removeValue(forKey: id) else { return }
        let count = counts[seat.address, default: 0] - 1
        counts[seat.address] = count > 0 ? count : nil
    }

    mutating func vouch(_ isVouchedFor: Bool, for id: ObjectIdentifier) {
        seats[id]?.isVouchedFor = isVouchedFor
    }
}

/// What counts as one address: an IPv4 address, or the 64 bits of an IPv6 address that name a network (RFC 4291,
/// 2.5.4), as one host has all addresses of its network to choose from.
struct VisitorAddress: Hashable {
    private let bytes: [UInt8]

    /// - Parameter ip: An address as text; anything else counts as one address.
    init(_ ip: String?) {
        let all = ip.flatMap { IPAddress.bytes($0) } ?? []
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xff, 0xff]
        // ::ffff:192.0.2.1 is an IPv4 address (RFC 4291, 2.5.5.2).
        bytes = all.starts(with: mapped) ? Array(all[12...]) : Array(all.prefix(all.count == 16 ? 8 : 4))
    }
}

/// What the kernel tells of links, addresses and routes, as far as it matters to somebody who sends over them.
enum RouteMessage: Equatable, Sendable {
    /// A link is there, and whether it carries anything (RTM_NEWLINK).
    case link(UInt32, isRunning: Bool)
    /// A link is gone (RTM_DELLINK).
    case linkGone(UInt32)
    /// A link has an address that can be used (RTM_NEWADDR).
    case address(IPAddress, link: UInt32)
    /// A link does not have an address any more, or must not use it (RTM_DELADDR; or a duplicate was found).
    case addressGone(IPAddress, link: UInt32)
    /// Something can be reached (RTM_NEWROUTE).
    case route(Route)
    /// Something can not be reached this way any more (RTM_DELROUTE).
    case routeGone(Route)
}

/// A way to other machines.
struct Route: Hashable, Sendable {
    /// Network that is reached: an address, all zero for the default route.
    var destination: IPAddress
    /// Leading bits of `destination` that count.
    var length: UInt8
    /// The next machine on the way; nil on the link itself.
    var gateway: IPAddress?
    /// Number of the link; 0 where it has several.
    var link: UInt32
    var table: UInt32
    var priority: UInt32
}

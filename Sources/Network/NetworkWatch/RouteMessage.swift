import LinuxSystem

/// A kernel message about links, addresses or routes, reduced to the facts a sender needs.
enum RouteMessage: Equatable, Sendable {
    /// A link exists, and whether it is up and running (RTM_NEWLINK).
    case link(UInt32, isRunning: Bool)
    /// A link was removed (RTM_DELLINK).
    case linkGone(UInt32)
    /// A link has a usable address (RTM_NEWADDR).
    case address(IPAddress, link: UInt32)
    /// A link lost an address, or must not use the address (RTM_DELADDR; or a duplicate was found).
    case addressGone(IPAddress, link: UInt32)
    /// A route was added (RTM_NEWROUTE).
    case route(Route)
    /// A route was removed (RTM_DELROUTE).
    case routeGone(Route)
}

/// A route to other machines.
struct Route: Hashable, Sendable {
    /// The network reached: an address, all zero for the default route.
    var destination: IPAddress
    /// Number of leading bits of `destination` that count.
    var length: UInt8
    /// The next router; nil if the destination is on the link itself.
    var gateway: IPAddress?
    /// Number of the link; 0 for a route over several links.
    var link: UInt32
    var table: UInt32
    var priority: UInt32
}

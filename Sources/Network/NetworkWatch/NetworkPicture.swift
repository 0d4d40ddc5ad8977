import LinuxSystem

/// The known state of the network: distinguishes a change from a message that repeats a known fact.
struct NetworkPicture: Equatable, Sendable {
    /// An address and its link; 0 for an unknown link.
    struct LinkAddress: Hashable, Sendable {
        var address: IPAddress
        var link: UInt32
    }

    /// Maximum number of remembered routes. On a router with all routes of the Internet, every further route message
    /// counts as a change, even a repeated one.
    private static let mostRoutes = 1024

    private var addresses: Set<LinkAddress> = []
    private var links: [UInt32: Bool] = [:]
    private var returnedLinks: Set<UInt32> = []
    private var routes: Set<Route> = []

    /// Starts with addresses found by `Surroundings`. Links and routes become known through messages.
    init(addresses: Set<IPAddress>) {
        self.addresses = Set(addresses.map { LinkAddress(address: $0, link: 0) })
    }

    /// Every address on any link.
    var allAddresses: Set<IPAddress> { Set(addresses.map(\.address)) }

    /// Applies a message.
    ///
    /// - Returns: whether the message changed the picture.
    mutating func apply(_ message: RouteMessage) -> Bool {
        switch message {
        case .link(let link, let isRunning):
            if !isRunning { forgetRoutes(over: link) }
            let former = links.updateValue(isRunning, forKey: link)
            if !isRunning { returnedLinks.remove(link) }
            if isRunning, former == false { returnedLinks.insert(link) }
            return former != isRunning
        case .linkGone(let link):
            forgetRoutes(over: link)
            returnedLinks.remove(link)
            return links.removeValue(forKey: link) != false
        case .address(let address, let link):
            let isNew = !allAddresses.contains(address)
            // An address found by `Surroundings` has no link.
            addresses.remove(LinkAddress(address: address, link: 0))
            return addresses.insert(LinkAddress(address: address, link: link)).inserted && isNew
        case .addressGone(let address, let link):
            forgetRoutes(over: link)
            let unknownLink = addresses.remove(LinkAddress(address: address, link: 0)) != nil
            return addresses.remove(LinkAddress(address: address, link: link)) != nil || unknownLink
        case .route(let route):
            guard routes.count < Self.mostRoutes else { return !routes.contains(route) }
            return routes.insert(route).inserted
        case .routeGone(let route):
            routes.remove(route)
            return true
        }
    }

    /// Returns the links that lost and regained their carrier since the last call.
    mutating func takeReturnedLinks() -> Set<UInt32> {
        defer { returnedLinks = [] }
        return returnedLinks
    }

    /// Removes a link's routes, because the kernel drops routes together with their address or link without a
    /// message. A later message for such a route then counts as a change.
    private mutating func forgetRoutes(over link: UInt32) {
        routes = routes.filter { $0.link != link }
    }
}

/// What is known of the network: enough to tell a change from a message that repeats what is so anyway.
struct NetworkPicture: Equatable, Sendable {
    /// An address and the link that has it; 0 where the link is not known.
    struct LinkAddress: Hashable, Sendable {
        var address: IPAddress
        var link: UInt32
    }

    /// Routes that are remembered; a router with all of the Internet's has a change with each, whatever it repeats.
    private static let mostRoutes = 1024

    private var addresses: Set<LinkAddress> = []
    private var links: [UInt32: Bool] = [:]
    private var returnedLinks: Set<UInt32> = []
    private var routes: Set<Route> = []

    /// The addresses that were found by looking. Links and routes become known as they are told of.
    init(addresses: Set<IPAddress>) {
        self.addresses = Set(addresses.map { LinkAddress(address: $0, link: 0) })
    }

    /// Every address, whatever its link.
    var allAddresses: Set<IPAddress> { Set(addresses.map(\.address)) }

    /// Takes a message in.
    ///
    /// - Returns: whether it told something new.
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
            // What was found by looking has no link.
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

    /// The links that lost their carrier and have it again, since this was last asked.
    mutating func takeReturnedLinks() -> Set<UInt32> {
        defer { returnedLinks = [] }
        return returnedLinks
    }

    /// The kernel drops routes with the address or link they need and says nothing of it: when they are told of again,
    /// that is news.
    private mutating func forgetRoutes(over link: UInt32) {
        routes = routes.filter { $0.link != link }
    }
}

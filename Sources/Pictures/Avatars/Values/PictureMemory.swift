public import PictureJobs

/// An LRU cache of pictures with a limit on their total cost.
///
/// A value; the owner defines pictures and costs.
public struct PictureMemory<Picture: Sendable>: Sendable {
    private struct Slot {
        var address: AvatarAddress
        var style: PictureStyle
        var picture: Picture?
        var cost: Int
        /// Neighbours in the order of use; -1 at the ends.
        var newer = -1
        var older = -1
    }

    /// Limit of the total cost. Lowering it evicts at once.
    public var costLimit: Int {
        didSet { evict() }
    }
    /// Total cost of all pictures.
    public private(set) var cost = 0
    /// Number of pictures.
    public private(set) var count = 0

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var places: [AvatarAddress: [PictureStyle: Int]] = [:]
    private var newest = -1
    private var oldest = -1

    /// Creates an empty cache.
    ///
    /// - Parameter costLimit: In the unit of the costs, usually bytes.
    public init(costLimit: Int) { self.costLimit = costLimit }

    /// Returns the picture of an address in a style, and marks it as most recently used.
    public mutating func picture(_ address: AvatarAddress, _ style: PictureStyle) -> Picture? {
        guard let slot = places[address]?[style] else { return nil }
        if slot != newest {
            unlink(slot)
            linkAsNewest(slot)
        }
        return slots[slot].picture
    }

    /// Inserts or replaces a picture. A picture that costs more than the limit is not kept.
    public mutating func insert(_ picture: Picture, cost: Int, for address: AvatarAddress, _ style: PictureStyle) {
        remove(address, style)
        if cost > costLimit { return }
        let slot = Slot(address: address, style: style, picture: picture, cost: cost)
        let place: Int
        if let free = freeSlots.popLast() {
            place = free
            slots[free] = slot
        } else {
            place = slots.count
            slots.append(slot)
        }
        places[address, default: [:]][style] = place
        linkAsNewest(place)
        self.cost += cost
        count += 1
        evict()
    }

    /// Removes an address in one style.
    public mutating func remove(_ address: AvatarAddress, _ style: PictureStyle) {
        if let slot = places[address]?[style] { release(slot) }
    }

    /// Removes an address in all styles.
    public mutating func removeAll(of address: AvatarAddress) {
        for slot in places[address]?.values.map({ $0 }) ?? [] { release(slot) }
    }

    /// Removes all pictures.
    public mutating func removeAll() {
        self = PictureMemory(costLimit: costLimit)
    }

    private mutating func evict() {
        while cost > costLimit, oldest >= 0 { release(oldest) }
    }

    private mutating func release(_ slot: Int) {
        unlink(slot)
        let (address, style) = (slots[slot].address, slots[slot].style)
        places[address]?[style] = nil
        if places[address]?.isEmpty == true { places[address] = nil }
        cost -= slots[slot].cost
        count -= 1
        slots[slot].picture = nil
        freeSlots.append(slot)
    }

    private mutating func unlink(_ slot: Int) {
        let (newer, older) = (slots[slot].newer, slots[slot].older)
        if newer >= 0 { slots[newer].older = older } else { newest = older }
        if older >= 0 { slots[older].newer = newer } else { oldest = newer }
    }

    private mutating func linkAsNewest(_ slot: Int) {
        slots[slot].newer = -1
        slots[slot].older = newest
        if newest >= 0 { slots[newest].newer = slot } else { oldest = slot }
        newest = slot
    }
}

public import PictureJobs

/// Pictures at hand, up to a limit of what they cost together; what was asked for least recently goes first.
///
/// A value: whoever holds it decides what a picture is and what it costs.
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

    /// What all pictures may cost together; a lower limit takes effect at once.
    public var costLimit: Int {
        didSet { evict() }
    }
    /// What all pictures cost together.
    public private(set) var cost = 0
    /// Number of pictures.
    public private(set) var count = 0

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var places: [AvatarAddress: [PictureStyle: Int]] = [:]
    private var newest = -1
    private var oldest = -1

    /// An empty memory.
    ///
    /// - Parameter costLimit: in the unit of the costs, usually bytes.
    public init(costLimit: Int) { self.costLimit = costLimit }

    /// The picture of an address in a style, which is the most recently used one from now on.
    public mutating func picture(_ address: AvatarAddress, _ style: PictureStyle) -> Picture? {
        guard let slot = places[address]?[style] else { return nil }
        if slot != newest {
            unlink(slot)
            linkAsNewest(slot)
        }
        return slots[slot].picture
    }

    /// Takes a picture in, in place of one that is there; one that costs more than the limit is not kept.
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

    /// Forgets an address in one style.
    public mutating func remove(_ address: AvatarAddress, _ style: PictureStyle) {
        if let slot = places[address]?[style] { release(slot) }
    }

    /// Forgets an address in all styles.
    public mutating func removeAll(of address: AvatarAddress) {
        for slot in places[address]?.values.map({ $0 }) ?? [] { release(slot) }
    }

    /// Forgets everything.
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

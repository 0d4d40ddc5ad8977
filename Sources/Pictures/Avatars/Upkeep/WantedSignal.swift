import SystemPackage

/// A signal to the maintenance of wanted pictures.
enum WantedSignal: Sendable {
    case listRead(Result<WantedList, Errno>)
    case due
    case ended(AvatarWish, number: UInt64, WantedPlan.Outcome)
    case lowMemory
    case networkChanged
    /// These addresses were removed from the mirror, or their failures were forgotten.
    case forgotten(Set<AvatarAddress>)
}

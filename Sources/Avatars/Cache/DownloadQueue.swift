/// Addresses whose download waits for its turn: the urgent ones first, each kind in the order it came.
struct DownloadQueue {
    private var urgent: [AvatarAddress] = []
    private var patient: [AvatarAddress] = []

    mutating func append(_ address: AvatarAddress, isUrgent: Bool) {
        if isUrgent { urgent.append(address) } else { patient.append(address) }
    }

    /// Somebody is in a hurry now; nothing happens where it does not wait.
    mutating func promote(_ address: AvatarAddress) {
        guard let index = patient.firstIndex(of: address) else { return }
        urgent.append(patient.remove(at: index))
    }

    mutating func remove(_ address: AvatarAddress) {
        urgent.removeAll { $0 == address }
        patient.removeAll { $0 == address }
    }

    mutating func popFirst() -> AvatarAddress? {
        if !urgent.isEmpty { return urgent.removeFirst() }
        return patient.isEmpty ? nil : patient.removeFirst()
    }
}

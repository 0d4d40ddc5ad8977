/// Whose turn it is where only so many may run at once: the urgent ones first, each kind in the order it came. Those
/// that are not urgent leave one place free, so that somebody in a hurry never waits for all of them.
struct Turns<Element: Hashable & Sendable>: Sendable {
    private let maximum: Int
    private var urgent: [Element] = []
    private var patient: [Element] = []
    private var running: [Element: Bool] = [:]
    private var runningPatient = 0

    /// - Parameter maximum: how many run at once; at least 1.
    init(maximum: Int) { self.maximum = max(maximum, 1) }

    /// Something waits for its turn.
    mutating func append(_ element: Element, isUrgent: Bool) {
        if isUrgent { urgent.append(element) } else { patient.append(element) }
    }

    /// Somebody is in a hurry now, whether it waits or runs.
    mutating func promote(_ element: Element) {
        if running[element] == false {
            running[element] = true
            runningPatient -= 1
        } else if let index = patient.firstIndex(of: element) {
            urgent.append(patient.remove(at: index))
        }
    }

    /// It is over, or was given up.
    mutating func remove(_ element: Element) {
        if let isUrgent = running.removeValue(forKey: element) {
            if !isUrgent { runningPatient -= 1 }
            return
        }
        urgent.removeAll { $0 == element }
        patient.removeAll { $0 == element }
    }

    /// What runs from now on; nil where nothing may.
    mutating func next() -> Element? {
        if running.count >= maximum { return nil }
        if !urgent.isEmpty {
            let element = urgent.removeFirst()
            running[element] = true
            return element
        }
        if patient.isEmpty || runningPatient >= max(maximum - 1, 1) { return nil }
        let element = patient.removeFirst()
        running[element] = false
        runningPatient += 1
        return element
    }
}

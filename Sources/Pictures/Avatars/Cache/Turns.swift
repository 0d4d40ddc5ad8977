/// A queue with limited concurrency: urgent elements first, each kind in order of arrival. Elements without urgency
/// leave one place free, so that an urgent element never waits for all of them.
struct Turns<Element: Hashable & Sendable>: Sendable {
    private let maximum: Int
    private var urgent: [Element] = []
    private var patient: [Element] = []
    private var running: [Element: Bool] = [:]
    private var runningPatient = 0

    /// - Parameter maximum: Maximum number of running elements; at least 1.
    init(maximum: Int) { self.maximum = max(maximum, 1) }

    /// Appends an element to the queue.
    mutating func append(_ element: Element, isUrgent: Bool) {
        if isUrgent { urgent.append(element) } else { patient.append(element) }
    }

    /// Makes a waiting or running element urgent.
    mutating func promote(_ element: Element) {
        if running[element] == false {
            running[element] = true
            runningPatient -= 1
        } else if let index = patient.firstIndex(of: element) {
            urgent.append(patient.remove(at: index))
        }
    }

    /// Removes a finished or cancelled element.
    mutating func remove(_ element: Element) {
        if let isUrgent = running.removeValue(forKey: element) {
            if !isUrgent { runningPatient -= 1 }
            return
        }
        urgent.removeAll { $0 == element }
        patient.removeAll { $0 == element }
    }

    /// Starts and returns the next element; nil if none may start.
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

import FoundationEssentials
import Glibc

/// Prints findings immediately, or all findings as one JSON object at the end.
struct Report: Encodable {
    let machine: Machine
    private(set) var findings: [Finding] = []
    private let isJSON: Bool
    private var hasFailed = false

    private enum CodingKeys: CodingKey {
        case machine, findings
    }

    private init(machine: Machine, isJSON: Bool) {
        self.machine = machine
        self.isJSON = isJSON
        if !isJSON { say(machine.text) }
    }

    /// Runs measurements in a workplace and removes the workplace afterwards.
    static func run(_ options: Options, _ measures: (Workplace, inout Report) throws -> Void) throws {
        let workplace = try Workplace(options)
        var report = Report(machine: Machine(directory: workplace.directory), isJSON: options.json)
        do {
            try measures(workplace, &report)
        } catch {
            if rmdir(workplace.directory) != 0 { note("The logs of the programs are in \(workplace.directory).") }
            throw error
        }
        if !report.hasFailed {
            workplace.remove()
        } else if rmdir(workplace.directory) != 0 {
            note("The logs of the programs are in \(workplace.directory).")
        }
        if options.json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            say(String(decoding: try encoder.encode(report), as: UTF8.self))
        }
    }

    /// Runs a measurement of the table. If it fails, or this machine lacks something, a row says why.
    mutating func attempt(_ measure: String, _ what: String, _ body: (inout Report) throws -> Void) {
        do {
            try body(&self)
        } catch {
            hasFailed = true
            add(.missing(measure, what, "\(error)"))
        }
    }

    /// Prints all findings as a table, unless they go out as JSON.
    func printTable() {
        if isJSON { return }
        say("")
        for line in Table.lines(findings) { say(line) }
    }

    mutating func add(_ finding: Finding) {
        findings.append(finding)
        if !isJSON { say(finding.text) }
    }
}

/// Prints a result to standard output, unbuffered.
func say(_ text: String) {
    let line = Array("\(text)\n".utf8)
    _ = write(STDOUT_FILENO, line, line.count)
}

/// Prints progress to standard error.
func note(_ text: String) {
    let line = Array("\(text)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
}

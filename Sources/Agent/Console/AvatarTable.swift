import Text
package import Reports

/// The avatar mirror as a table: one line for each picture, then one for each failed URL, then the total.
package struct AvatarTable: Sendable {
    private let list: AvatarList
    private let look: ConsoleLook

    /// Creates a table.
    package init(_ list: AvatarList, look: ConsoleLook) {
        self.list = list
        self.look = look
    }

    /// The lines, without line feeds.
    package func lines() -> [String] { pictures + failures + [sum] }

    private var pictures: [String] {
        let rows = list.avatars.map { picture in
            [
                picture.fresh ? "fresh" : "stale", Quantity.size(picture.size + picture.styled_size),
                "fetched \(Self.ago(picture.age))", "used \(Self.ago(picture.unused))",
                DisplayText.escaped(
                    ([picture.url, picture.styles.joined(separator: " ")]).filter { !$0.isEmpty }
                        .joined(separator: "  ")),
            ]
        }
        return Self.aligned(rows, right: 1).map { cells in
            let state = look.paint(cells[0], cells[0].hasPrefix("fresh") ? .green : .yellow)
            return look.cut(([state] + cells.dropFirst()).joined(separator: "  "))
        }
    }

    private var failures: [String] {
        let rows = list.failures.map { failure in
            [
                "failed", DisplayText.escaped(failure.code),
                "not asked for \(Quantity.duration(seconds: failure.remaining))", DisplayText.escaped(failure.url),
            ]
        }
        return Self.aligned(rows).map { cells in
            look.cut(([look.paint(cells[0], .red)] + cells.dropFirst()).joined(separator: "  "))
        }
    }

    private var sum: String {
        let failed = list.failures.count
        return Self.count(list.avatars.count, "picture")
            + ", \(Quantity.size(list.bytes)) of \(Quantity.size(list.max_size))"
            + (failed == 0 ? "" : "; \(Self.count(failed, "URL")) failed")
    }

    static func count(_ number: Int, _ what: String) -> String { "\(number) \(what)\(number == 1 ? "" : "s")" }

    /// Shows only the largest unit; more precision is useless here.
    private static func ago(_ seconds: UInt64) -> String {
        seconds < 60
            ? "just now"
            : Quantity.duration(seconds: seconds).split(separator: " ").prefix(2).joined(separator: " ") + " ago"
    }

    /// Pads all cells of a column to one width, except the last column.
    ///
    /// - Parameter right: The right-aligned column.
    private static func aligned(_ rows: [[String]], right: Int? = nil) -> [[String]] {
        let columns = rows.first?.count ?? 0
        let widths = (0..<columns).map { column in rows.map { DisplayText.width($0[column]) }.max() ?? 0 }
        return rows.map { row in
            row.indices.map {
                $0 == columns - 1 ? row[$0] : DisplayText.padded(row[$0], to: widths[$0], right: $0 == right)
            }
        }
    }
}

extension AvatarClearance {
    /// The cleared pictures, for display.
    package var line: String {
        removed.isEmpty
            ? "nothing to remove"
            : "removed \(AvatarTable.count(removed.count, "picture")), \(Quantity.size(bytes))"
    }
}

/// Reports of files or posts, ordered by path.
package struct Listing<Report: SubjectReport>: Sendable {
    package var reports: [Report]
    /// The number of all subjects by state, whether listed or not; `nil` if the list was not limited.
    package var counts: [Report.Entry.State: Int]?

    package init(reports: [Report], counts: [Report.Entry.State: Int]? = nil) {
        self.reports = reports
        self.counts = counts
    }
}

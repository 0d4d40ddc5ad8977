import UploadCore

/// Counters since the agent started. `AgentMetrics` describes each of them.
struct UploadCounters: Sendable {
    private(set) var bytesAcknowledged: UInt64 = 0
    private(set) var fragmentsSent: UInt64 = 0
    private(set) var fragmentsAcknowledged: UInt64 = 0
    private(set) var fragmentsFailed: [String: UInt64] = [:]
    private(set) var fragmentsInFlight = 0
    private(set) var retries: UInt64 = 0
    private(set) var uploadsDone: UInt64 = 0
    private(set) var uploadsFailed: UInt64 = 0
    var bytesHashed: UInt64 = 0
    var commitTroubles: UInt64 = 0
    /// Products; `nil` if no type of file has a recipe.
    var products: Products?

    /// Products made since the start.
    struct Products: Sendable {
        /// The number of products.
        private(set) var made: UInt64 = 0
        /// The time spent on processing, also of contents for which nothing was made.
        private(set) var spent = Duration.zero
        /// How many bytes less the products have than their originals.
        private(set) var bytesSaved: UInt64 = 0

        /// Counts the end of a job for an original of this size.
        mutating func ended(_ event: ProductQueue.Event, originalSize: UInt64, took: Duration) {
            spent += took
            guard case .made(_, _, let product?, _, _) = event else { return }
            made += 1
            bytesSaved += originalSize - min(product.size, originalSize)
        }
    }

    mutating func beganToSend() {
        fragmentsSent += 1
        fragmentsInFlight += 1
    }

    /// Counts the end of a request that carried a fragment.
    mutating func ended(sending events: [MachineEvent]) {
        fragmentsInFlight -= 1
        for case .failed(_, _, let failure) in events { failedToSend(failure) }
    }

    mutating func acknowledged(bytes: Int) {
        bytesAcknowledged += UInt64(bytes)
        fragmentsAcknowledged += 1
    }

    private mutating func failedToSend(_ failure: RemoteFailure) {
        fragmentsFailed[failure.name, default: 0] += 1
        if case .temporary = failure { retries += 1 }
    }

    mutating func ended(_ outcome: DropOutcome) {
        switch outcome {
        case .done: uploadsDone += 1
        case .failed: uploadsFailed += 1
        }
    }
}

extension RemoteFailure {
    /// The name of the failure class in metrics.
    fileprivate var name: String {
        switch self {
        case .temporary: "temporary"
        case .outOfStep: "out_of_step"
        case .busyUpload: "busy_upload"
        case .signedOut: "signed_out"
        case .forgotten: "forgotten"
        case .permanent: "permanent"
        case .source: "source"
        case .cancelled: "cancelled"
        }
    }
}

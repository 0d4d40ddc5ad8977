extension Configuration {
    /// `[[hook]]`: whom the agent tells of outcomes.
    package struct Hook: Sendable, Equatable {
        /// What a hook may ask for.
        package enum Event: String, Sendable, CaseIterable {
            case done, failed, rejected, cancelled, post, portrait, idle, trouble, recovered
        }

        /// How the hook is called.
        package enum Call: Sendable, Equatable {
            /// A program, absolute, and its arguments.
            case run([String])
            /// A POST to a URL, signed if there is a file with a secret.
            case post(String, secretFile: String?)
        }

        /// Unique; names the hook's place in the journal.
        package var name: String
        /// What it is told of.
        package var events: Set<Event> = [.done, .failed]
        /// How it is called.
        package var call: Call
        /// The most outcomes of a call.
        package var batch = 1
        /// How long outcomes wait for others of the same call.
        package var window: Duration = .zero
        /// How long a call may take.
        package var timeout: Duration = .seconds(30)
        /// Outcomes not delivered by then are given up.
        package var keep: Duration = .seconds(7 * 24 * 3600)

        /// Creates a hook with the defaults.
        package init(name: String, call: Call) { (self.name, self.call) = (name, call) }
    }

    /// `[heartbeat]`: whom the agent tells that all is well.
    package struct Heartbeat: Sendable, Equatable {
        /// The address for a GET while all is well; `nil`: nobody.
        package var url: String?
        /// The time between two of them.
        package var every: Duration = .seconds(300)
    }
}

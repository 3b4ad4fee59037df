package import BellhopRules
import Postgres

/// A provider that has accepted nothing from an app for a while, whatever its answers are.
package struct ProviderOutage: Sendable, Equatable {
    package let app: String
    package let provider: String
    /// Its last answer, as named in the ledger.
    package var word: String
    package let since: Timestamp
    /// When it gave this answer last.
    package var latest: Timestamp
    /// The number of answers since then, including missing ones.
    package var answers: Int

    package init(app: String, provider: String, word: String, since: Timestamp, latest: Timestamp, answers: Int) {
        self.app = app
        self.provider = provider
        self.word = word
        self.since = since
        self.latest = latest
        self.answers = answers
    }
}

/// A provider that has recently accepted a push of an app or recognised its device.
package struct ProviderSuccess: Sendable, Equatable {
    package let app: String
    package let provider: String
    package let at: Timestamp

    package init(app: String, provider: String, at: Timestamp) {
        self.app = app
        self.provider = provider
        self.at = at
    }
}

/// A process's report of its state.
package struct Heartbeat: Sendable, Equatable {
    /// The identity of the process, which does not change while it runs.
    package struct Identity: Sendable, Equatable {
        package let id: String
        package let role: String
        package let version: String
        package let host: String
        package let process: Int
        /// The schema for which the program was built.
        package var schema = Migration.all.schemaNumber
        /// The newest form of internal messages that the program reads.
        package var messages = 0

        package init(id: String, role: String, version: String, host: String, process: Int) {
            self.id = id
            self.role = role
            self.version = version
            self.host = host
            self.process = process
        }
    }

    package let identity: Identity
    /// A fingerprint of the active catalogues.
    package var catalogs: String
    /// The reason for which the last reload was rejected.
    package var refusal: String?
    package var troubles: [ProviderOutage] = []
    /// Acceptances that refute other processes' troubles.
    package var takings: [ProviderSuccess] = []
    /// The reason why it takes no messages; `nil` if there is none.
    package var hindrance: String?
    /// Whether it takes no new work and finishes its current work.
    package var isDraining = false
    /// The deliveries that it pulls per second, by backlog name.
    package var pulls: [String: Int] = [:]
    /// Counters since its start; empty for a process without counters.
    package var figures: [String: [Int]] = [:]

    package init(_ identity: Identity, catalogs: String) {
        self.identity = identity
        self.catalogs = catalogs
    }
}

/// A process as reported to others.
package struct LiveProcess: Sendable {
    package let report: Heartbeat
    package let startedAt: Timestamp
    package let seenAt: Timestamp
    /// When its drain began; `nil` if it does not drain.
    package let drainingSince: Timestamp?
}

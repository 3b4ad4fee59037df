package import BellhopRules
import Postgres

/// A provider that has taken nothing of an app for a while, whatever it says.
package struct ProviderTrouble: Sendable, Equatable {
    package let app: String
    package let provider: String
    /// Its last word, as the ledger has it.
    package var word: String
    package let since: Timestamp
    /// When it said so last.
    package var latest: Timestamp
    /// Answers since then, or none that came.
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

/// A provider that has lately taken something of an app, or known its device.
package struct ProviderTaking: Sendable, Equatable {
    package let app: String
    package let provider: String
    package let at: Timestamp

    package init(app: String, provider: String, at: Timestamp) {
        self.app = app
        self.provider = provider
        self.at = at
    }
}

/// What a process says of itself.
package struct ProcessReport: Sendable, Equatable {
    /// Whose report it is, which does not change while the process runs.
    package struct Identity: Sendable, Equatable {
        package let id: String
        package let role: String
        package let version: String
        package let host: String
        package let process: Int
        /// The schema that its program was built for.
        package var schema = Migration.all.schemaNumber
        /// The newest form of internal messages that its program reads.
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
    /// A fingerprint of the catalogues in force.
    package var catalogs: String
    /// Why the last reload was refused.
    package var refusal: String?
    package var troubles: [ProviderTrouble] = []
    /// What refutes other processes' troubles.
    package var takings: [ProviderTaking] = []
    /// What keeps it from taking messages; nil where nothing does.
    package var hindrance: String?
    /// Whether it takes nothing new, and ends what it holds.
    package var isDraining = false
    /// Deliveries a second that it pulls, by the names of the backlogs.
    package var pulls: [String: Int] = [:]
    /// What it has done since it started, in numbers that only grow; empty for a process that counts nothing.
    package var figures: [String: [Int]] = [:]

    package init(_ identity: Identity, catalogs: String) {
        self.identity = identity
        self.catalogs = catalogs
    }
}

/// A process as others see it.
package struct SeenProcess: Sendable {
    package let report: ProcessReport
    package let startedAt: Timestamp
    package let seenAt: Timestamp
    /// Nil where it does not drain.
    package let drainingSince: Timestamp?
}

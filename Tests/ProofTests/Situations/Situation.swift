/// A situation of docs/situations.md, with its heading there.
enum Situation: String, CaseIterable, Sendable {
    case nothingWrong = "Nothing is wrong"
    case databaseAway = "The database is unavailable"
    case databaseBack = "The database has just returned"
    case brokerAway = "The broker is unavailable"
    case bothAway = "Broker and database are unavailable"
    case brokerBack = "The broker has just returned"
    case hungWorker = "A worker hangs"
    case hungScheduler = "A scheduler hangs"
    case poolPauses = "A pool waits before it restarts a worker"
    case laneFull = "A lane is full"
    case catalogsDiffer = "Catalogues differ"
}

/// The outputs in one situation, without the parts that differ between installations.
struct SituationReport: Sendable, Equatable, CustomStringConvertible {
    /// The first block of `bellhop status`, with one line per problem.
    var status: [String] = []
    /// The answers of `/readyz`, each line with the role in front.
    var readiness: [String] = []
    /// The headings of the console's list of problems with their numbers.
    var console: [String] = []

    var description: String {
        (["status:"] + status + ["readyz:"] + readiness + ["console:"] + console).joined(separator: "\n")
    }

    /// Returns a line with the same text for all hosts, processes, ages, counts, addresses and catalogues.
    static func masked(_ line: String) -> String {
        line.replacing(/[A-Za-z0-9.-]+\[[0-9]+\]/, with: "HOST[PID]")
            .replacing(/\b(?=[a-f]*[0-9])[0-9a-f]{12}\b/, with: "CATALOGUES")
            .replacing(/[0-9][0-9,]*( ms| s| min| h| d)?\b/, with: "N")
    }

    /// Joins the lines of each problem: a line that continues one begins with three spaces.
    static func problems(in block: some Collection<Substring>) -> [String] {
        block.reduce(into: [String]()) { problems, line in
            if line.hasPrefix("   "), let last = problems.popLast() {
                problems.append(last + line.dropFirst(2))
            } else {
                problems.append(line.hasPrefix("!  ") ? String(line.dropFirst(3)) : String(line))
            }
        }
        .map(masked)
    }
}

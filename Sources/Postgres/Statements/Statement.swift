/// One SQL statement with a constant text.
///
/// Every connection prepares it on first use and keeps the plan.
///
/// Values are passed as `$1`, `$2`, … and never in the text, because each distinct text occupies memory on every
/// connection.
package struct Statement: Sendable, Hashable, ExpressibleByStringLiteral {
    package let sql: String
    package let effect: Effect
    /// Computed once, so that looking up a plan does not hash kilobytes of SQL each time.
    private let fingerprint: Int
    /// Whether the statement ends a transaction and makes it durable.
    let commits: Bool

    /// The possible effect if the connection is lost before the answer.
    package enum Effect: Sendable, Hashable {
        /// The statement may have changed rows: a lost answer is `outcomeUnknown`.
        case writes
        /// The statement changes nothing: a lost answer is only `connectionLost`.
        case reads
    }

    package init(_ sql: String, effect: Effect = .writes) {
        self.sql = sql
        self.effect = effect
        fingerprint = sql.hashValue
        commits = Self.commits(sql)
    }

    package init(stringLiteral sql: String) { self.init(sql) }

    package static func == (left: Statement, right: Statement) -> Bool {
        left.fingerprint == right.fingerprint && left.sql == right.sql
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}

extension Statement {
    /// The beginning of the text in one line, to distinguish statements in an error.
    var summary: String {
        let words = sql.prefix(240).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return words.count > 60 ? "\(words.prefix(60))…" : words
    }

    private static func commits(_ sql: String) -> Bool {
        let word = sql.drop(while: \.isWhitespace).prefix { $0.isLetter }.lowercased()
        return word == "commit" || word == "end" || word == "prepare"
    }
}

import Postgres

/// The attempts to send that ended without an answer of the provider, as the workers recorded them in the ledger.
///
/// A row of the ledger keeps only its last reason, so a trigger keeps the reason of each attempt.
struct UnansweredAttempts: CustomStringConvertible {
    /// The numbers of attempts by reason.
    private var counts: [String: Int] = [:]
    /// The number of those with an unknown outcome.
    private(set) var unknown = 0

    /// Begins to record attempts.
    static func record(on stage: Stage) async throws {
        _ = try await stage.owner.run("CREATE TABLE failed_attempts (reason text, outcome_is_unknown boolean)")
        _ = try await stage.owner.run(
            """
            CREATE FUNCTION note_failed_attempt() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN
                INSERT INTO failed_attempts VALUES (NEW.reason, NEW.unknown_sends > OLD.unknown_sends);
                RETURN NULL;
            END
            $$
            """
        )
        _ = try await stage.owner.run(
            """
            CREATE TRIGGER failed_attempts AFTER UPDATE ON ledger FOR EACH ROW
            WHEN (OLD.state = 's' AND NEW.attempts > OLD.attempts AND NEW.reason IS NOT NULL)
            EXECUTE FUNCTION note_failed_attempt()
            """
        )
    }

    /// Reads the recorded attempts; a 503 is an answer.
    init(on stage: Stage) async throws {
        let rows = try await stage.owner.run(
            """
            SELECT reason, count(*), count(*) FILTER (WHERE outcome_is_unknown) FROM failed_attempts
            WHERE reason <> 'UNAVAILABLE' GROUP BY reason
            """
        )
        for row in rows.indices {
            counts[try rows.text(row, 0)] = Int(try rows.integer(row, 1))
            unknown += Int(try rows.integer(row, 2))
        }
    }

    var count: Int { counts.values.reduce(0, +) }

    /// Whether each of them reached a time limit: that of its request, or that of the request for an access token, in
    /// which case nothing was sent.
    var areTimeouts: Bool { counts.keys.allSatisfy { ["timeout", "token-unavailable"].contains($0) } }

    var description: String { "attempts without an answer: \(counts), \(unknown) with an unknown outcome" }
}

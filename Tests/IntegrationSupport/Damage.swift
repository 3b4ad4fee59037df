import Postgres

extension ServerFixture {
    /// Makes the server fail from now on for rows of a table that are written under this condition, as on a damaged
    /// page.
    package func damage(
        _ condition: String,
        of table: String = "inbox",
        at change: String = "INSERT"
    ) async throws {
        _ = try await owner.run(
            Statement(
                """
                CREATE FUNCTION fail_on_damage() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    RAISE EXCEPTION 'invalid page in block 7' USING ERRCODE = 'XX001';
                END
                $$
                """
            )
        )
        let trigger = "CREATE TRIGGER damage BEFORE \(change) ON \(table) FOR EACH ROW WHEN (\(condition))"
        _ = try await owner.run(Statement(trigger + " EXECUTE FUNCTION fail_on_damage()"))
    }

    package func repair(of table: String = "inbox") async throws {
        _ = try await owner.run(Statement("DROP TRIGGER damage ON \(table)"))
    }
}

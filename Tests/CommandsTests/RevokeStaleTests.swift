import CommandLineSupport
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "bellhop revoke-stale",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL")
)
struct RevokeStaleTests {
    @Test("devices unseen for the given days are ended with the reason, others stay, and a repeat ends none")
    func revokes() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.owner.withConnection { (connection) throws(PostgresError) in
                try connection.execute(
                    """
                    SET ROLE bellhop_worker;
                    INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                                                    last_seen_at, source_time)
                    SELECT 'drop', 'u' || n, 'sub_000000000000000' || n, 'ios', 'apns', 't' || n, seen, seen, seen
                    FROM generate_series(1, 5) n, LATERAL (SELECT now() - n * interval '40 days' AS seen) AS s
                    """
                )
            }
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let json = await prompt.run("revoke-stale", "--days", "90", "--json")
                #expect(json.code == .done)
                #expect(json.output == #"{"revoked":3}"#)
                let reasons = try await servers.column(
                    "SELECT concat_ws('|', profile_id, revoke_reason) FROM push_subscriptions ORDER BY profile_id"
                )
                #expect(reasons == ["u1", "u2", "u3|stale", "u4|stale", "u5|stale"])
                let again = await prompt.run("revoke-stale", "--days", "90")
                #expect(again.output.hasPrefix("ended 0 subscriptions not seen for 90 days"))
            }
        }
    }

    @Test("the SQL function of a cron job ends the same devices and returns their number")
    func inSQL() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.pool.run(
                """
                INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                                                last_seen_at, source_time)
                SELECT 'padel', 'u' || n, 'sub_000000000000000' || n, 'ios', 'apns', 't' || n, seen, seen, seen
                FROM generate_series(1, 3) n, LATERAL (SELECT now() - n * interval '50 days' AS seen) AS s
                """
            )
            let ended = try await servers.pool.run("SELECT revoke_stale_push_subscriptions(90)").integer(0, 0)
            #expect(ended == 2)
            let users = try await servers.column(
                "SELECT profile_id FROM push_subscriptions WHERE revoke_reason = 'stale' ORDER BY 1"
            )
            #expect(users == ["u2", "u3"])
        }
    }

    @Test("a dry run shows the devices that it would end and ends none, and --app limits the command to an app")
    func rehearsal() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.pool.run(
                """
                INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                                                last_seen_at, source_time)
                SELECT app, 'u' || n, 'sub_000000000000000' || n, 'ios', provider, 't' || n, seen, seen, seen
                FROM (VALUES ('drop', 'fcm', 1), ('drop', 'apns', 2), ('padel', 'apns', 3), ('drop', 'fcm', 4)) AS d (app, provider, n),
                     LATERAL (SELECT now() - interval '100 days' AS seen) AS s
                """
            )
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let json = await prompt.run("revoke-stale", "--days", "90", "--dry-run", "--json")
                #expect(json.code == .done)
                let groups = [("drop", "apns", 1), ("drop", "fcm", 2), ("padel", "apns", 1)].map {
                    app,
                    provider,
                    count in
                    #"{"app":"\#(app)","provider":"\#(provider)","subscriptions":\#(count)}"#
                }
                let expected = #"{"dryRun":true,"wouldRevoke":4,"of":[\#(groups.joined(separator: ","))]}"#
                #expect(json.output == expected)
                let text = await prompt.run("revoke-stale", "--days", "90", "--app", "padel", "--dry-run")
                let lines = "would end 1 subscription not seen for 90 days; none was ended\n  padel, apns: 1"
                #expect(text.output == lines)
                let ended = "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL"
                let before = try await servers.count(ended)
                #expect(before == 0)
                let padel = await prompt.run("revoke-stale", "--days", "90", "--app", "padel", "--json")
                #expect(padel.output == #"{"revoked":1}"#)
                let after = try await servers.column("SELECT app FROM push_subscriptions WHERE revoked_at IS NOT NULL")
                #expect(after == ["padel"])
                let none = await prompt.run("revoke-stale", "--days", "90", "--app", "bank", "--dry-run", "--json")
                #expect(none.code == .done)
                #expect(none.output == #"{"dryRun":true,"wouldRevoke":0,"of":[]}"#)
                let slip = await prompt.run("revoke-stale", "--days", "90", "--app", "dorp", "--dry-run")
                #expect(slip.complaints.hasPrefix("no catalogue describes dorp, did you mean drop?"))
            }
        }
    }

    @Test("an invalid app is a usage error")
    func noApp() async {
        let answer = await Prompt().run("revoke-stale", "--days", "90", "--app", "Not An App")
        #expect(answer.code == .usage)
        #expect(answer.complaints.contains("--app"))
    }

    @Test("every device is examined page by page, with the progress reported")
    func pages() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.pool.run(
                """
                INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                                                last_seen_at, source_time)
                SELECT 'drop', 'u' || n, 'sub_000000000000000' || n, 'ios', 'apns', 't' || n, seen, seen, seen
                FROM generate_series(1, 5) n, LATERAL (SELECT now() - n * interval '40 days' AS seen) AS s
                """
            )
            var search = StaleDeviceWalk.Search(days: 90)
            search.pageSize = 2
            var walk = StaleDeviceWalk(pool: servers.pool, search: search)
            var told: [[Int]] = []
            while try await walk.step() { told.append([walk.looked, walk.total]) }
            #expect(told == [[2, 0], [4, 2], [5, 3]])
        }
    }

    @Test(
        "missing or invalid days are a usage error that names the option",
        arguments: [[], ["--days", "0"], ["--days", "x"]]
    )
    func usage(words: [String]) async {
        let answer = await Prompt().run(["revoke-stale"] + words)
        #expect(answer.code == .usage)
        #expect(answer.complaints.contains("--days"))
    }
}

package import BellhopRules
package import Postgres

/// A user in the audience of an event.
package struct AudienceMember: Sendable {
    package let key: UserKey
    /// The data that the rules require; defaults if nothing is stored for the user.
    package let recipient: Recipient
    /// The user's follow of the event's topic; `nil` if the event is for everyone.
    package let follow: StoredFollow?
}

/// The tables `fanouts` and `fanout_pages`, as used by workers and schedulers.
///
/// A fan-out is stored when its snapshot is taken. Its audience is divided into pages during the fan-out: a few pages
/// are planned and unfinished at a time, each with a row and a message.
extension WorkerStore {
    /// Opens the fan-outs of stored events, each once, and returns the pages to publish.
    ///
    /// The audience is the set of users at this moment. A cancelled event has no pages. If a fan-out exists already,
    /// its untaken pages are returned, since the process that opened it may have died before it published them. The
    /// results are in the order of `plans`.
    package func open(_ plans: [PlannedEvent]) async throws(PostgresError) -> [[FanoutPage]] {
        guard !plans.isEmpty else { return [] }
        let events = plans.map(\.event)
        let parameters: [Parameter] = [
            .textArray(events.map(\.app.text)), .textArray(events.map(\.id.text)),
            .textArray(events.map(\.audience.topic?.text)), .textArray(events.map(\.type.text)),
            .integer(Int64(usersPerPage)),
        ]
        return try await pool.transaction { (connection) throws(PostgresError) in
            var pages = events.map { _ in [FanoutPage]() }
            let fresh = try connection.run(FanoutStatements.open, parameters)
            for row in fresh.indices {
                guard let place = try fresh.place(row, 3, in: pages.indices) else { continue }
                pages[place].append(try FanoutPage(fresh, row))
            }
            // If a batch contains copies of an event, the first copy gets the page.
            let new = Set(
                events.indices.filter { !pages[$0].isEmpty }.map { [events[$0].app.text, events[$0].id.text] }
            )
            let known = events.indices.filter { !new.contains([events[$0].app.text, events[$0].id.text]) }
            guard !known.isEmpty else { return pages }
            let orphans = try connection.run(
                FanoutStatements.untakenOfEvents,
                [.textArray(known.map { events[$0].app.text }), .textArray(known.map { events[$0].id.text })]
            )
            for row in orphans.indices {
                guard let place = try orphans.place(row, 3, in: known.indices) else { continue }
                pages[known[place]].append(try FanoutPage(orphans, row))
            }
            return pages
        }
    }

    /// Takes a page for a worker and plans the next pages.
    ///
    /// A page that another batch has taken is available only if the message was `redelivered` or after five minutes. A
    /// page with more than ``mostTakes`` takes probably crashes its workers, so its fan-out is paused.
    package func take(
        _ page: FanoutPage,
        as claim: Claim,
        redelivered: Bool
    ) async throws(PostgresError) -> PageClaimResult {
        let place: [Parameter] = [.integer(page.fanout), .integer(page.page)]
        let usersPerPage = usersPerPage
        return try await pool.transaction { (connection) throws(PostgresError) -> PageClaimResult in
            guard let fanout = try LockedFanout.hold(page.fanout, on: connection) else { return .over }
            guard fanout.isRunning else {
                _ = try connection.run(fanout.isPaused ? FanoutStatements.park : FanoutStatements.endPage, place)
                return .over
            }
            let taken = try connection.run(
                FanoutStatements.take,
                place + [.integer(claim.number), .boolean(redelivered)]
            )
            guard !taken.isEmpty else { return .over }
            guard try taken.number(0, 2) <= Self.mostTakes else {
                try Self.pause(page, because: "page-fails", on: connection)
                return .over
            }
            let event = try connection.run(FanoutStatements.event, [.integer(page.fanout)])
            guard !event.isEmpty, let app = AppID(validating: fanout.app) else { return .over }
            var further = try fanout.topUp(on: connection, usersPerPage)
            if try taken.boolean(0, 3) { further += try Self.untaken(of: page.fanout, on: connection) }
            let range = ClaimedPage.Range(
                app: app,
                topic: fanout.topic,
                snapshot: fanout.startedAt,
                after: try taken.text(0, 0),
                upto: try taken.text(0, 1)
            )
            return .open(
                ClaimedPage(
                    app: app,
                    content: Array(try event.text(0, 0).utf8),
                    contentHash: ContentHash(stored: try event.bytes(0, 1)),
                    further: Array(Set(further)),
                    age: fanout.age,
                    range: range
                )
            )
        }
    }

    /// The maximum number of takes of a page, as many as the broker's redeliveries.
    private static let mostTakes = 20

    /// Returns a fan-out's untaken pages, since their messages may have been lost with a worker.
    package func untaken(of fanout: Int64) async throws(PostgresError) -> [FanoutPage] {
        try await pool.withConnection { (connection) throws(PostgresError) in
            try Self.untaken(of: fanout, on: connection)
        }
    }

    private static func untaken(
        of fanout: Int64,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [FanoutPage] {
        let rows = try connection.run(FanoutStatements.untaken, [.integer(fanout)])
        return try rows.map { (rows, row) throws(PostgresError) in try FanoutPage(rows, row) }
    }

    /// Returns the users on a page who belonged to the audience at the snapshot and still do.
    ///
    /// It includes their stored data and, for a topic, their follows.
    package func audience(of page: ClaimedPage) async throws(PostgresError) -> [AudienceMember] {
        let range = page.range
        let bounds: [Parameter] = [.instant(range.snapshot), .text(range.after), .text(range.upto)]
        let rows =
            if let topic = range.topic {
                try await pool.run(FanoutStatements.followers, [.text(range.app.text), .text(topic)] + bounds)
            } else {
                try await pool.run(FanoutStatements.everyone, [.text(range.app.text)] + bounds)
            }
        var reader = RecipientDecoder()
        return try rows.compactMap { (rows, row) throws(PostgresError) -> AudienceMember? in
            guard let user = UserID(validating: try rows.text(row, 0)) else { return nil }
            var key = UserKey(app: range.app, user: user)
            let recipient = try reader.read(rows, row, from: 1, numbering: &key)
            let follow = range.topic == nil ? nil : try StoredFollow(rows, row, from: 1 + RecipientDecoder.width)
            return AudienceMember(key: key, recipient: recipient, follow: follow)
        }
    }

    /// Ends a page and plans the next one; returns the pages to publish.
    ///
    /// If the page had ended before, the untaken pages are returned, since the earlier answer may have been lost. When
    /// its last page ends, the fan-out is finished.
    package func finish(_ page: FanoutPage, _ tally: PageCounts) async throws(PostgresError) -> [FanoutPage] {
        let (number, usersPerPage) = (Parameter.integer(page.fanout), usersPerPage)
        return try await pool.transaction { (connection) throws(PostgresError) in
            guard let fanout = try LockedFanout.hold(page.fanout, on: connection),
                try connection.run(FanoutStatements.endPage, [number, .integer(page.page)]).affectedCount > 0
            else { return try Self.untaken(of: page.fanout, on: connection) }
            let counts = [tally.users, tally.recorded, tally.sent].map { Parameter.integer(Int64($0)) }
            let next = try fanout.topUp(on: connection, usersPerPage)
            _ = try connection.run(FanoutStatements.count, [number] + counts)
            return next
        }
    }

    /// Returns a page that the worker cannot process at present.
    package func putBack(_ page: FanoutPage, takenAs claim: Claim) async throws(PostgresError) {
        let parameters = [page.fanout, page.page, claim.number].map { Parameter.integer($0) }
        _ = try await pool.run(FanoutStatements.putBack, parameters)
    }

    /// Pauses a fan-out that cannot continue, until an operator resumes it.
    package func pause(_ page: FanoutPage, because trouble: String) async throws(PostgresError) {
        try await pool.transaction { (connection) throws(PostgresError) in
            guard let fanout = try LockedFanout.hold(page.fanout, on: connection) else { return }
            if fanout.isRunning { try Self.pause(page, because: trouble, on: connection) }
            // If another page or an operator has paused the fan-out first, this page waits for the same resume.
            if fanout.isPaused { try Self.park(page, on: connection) }
        }
    }

    private static func pause(
        _ page: FanoutPage,
        because trouble: String,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        _ = try connection.run(FanoutStatements.pause, [.integer(page.fanout), .text(trouble)])
        try park(page, on: connection)
    }

    private static func park(_ page: FanoutPage, on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.run(FanoutStatements.park, [.integer(page.fanout), .integer(page.page)])
    }

    /// Takes pages of running fan-outs that have no message, or whose message has been lost, so that they can be
    /// published.
    package func takeForgottenPages(
        atMost limit: Int,
        lostAfter grace: Duration
    ) async throws(PostgresError) -> [FanoutPage] {
        let rows = try await pool.run(
            FanoutStatements.forgotten,
            [.integer(Int64(limit)), .integer(grace.milliseconds)]
        )
        return try rows.map { (rows, row) throws(PostgresError) in try FanoutPage(rows, row) }
    }

    /// Makes pages available again immediately, since possibly no message exists for them.
    package func giveBack(_ pages: [FanoutPage]) async throws(PostgresError) {
        guard !pages.isEmpty else { return }
        _ = try await pool.run(
            FanoutStatements.giveBack,
            [.integerArray(pages.map(\.fanout)), .integerArray(pages.map(\.page))]
        )
    }
}

extension FanoutPage {
    fileprivate init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        self.init(
            fanout: try rows.integer(row, 0),
            page: try rows.integer(row, 1),
            priority: Priority(urgency: try rows.integer(row, 2))
        )
    }
}

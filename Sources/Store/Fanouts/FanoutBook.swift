package import BellhopRules
package import Postgres

/// The tables `fanouts` and `fanout_pages`, as workers and schedulers use them.
///
/// A fan-out is a row from the moment of its snapshot. Its audience is cut into pages as it goes: a few are planned and
/// unfinished at a time, each of them a row and a message.
package struct FanoutBook: Sendable {
    private let pool: PostgresPool
    private let usersPerPage: Int

    /// Pages of one fan-out that are planned and unfinished at a time: few, so that a pause takes effect soon and that the
    /// next fan-out need not wait long.
    static let pagesAtOnce = 4

    /// A page is about as much as a statement writes at once.
    package static let usualPage = 1000

    package init(pool: PostgresPool, usersPerPage: Int = usualPage) {
        self.pool = pool
        self.usersPerPage = max(1, usersPerPage)
    }

    /// Somebody whom an event is for.
    package struct Listener: Sendable {
        package let key: RecipientKey
        /// What the rules ask for; the defaults of whom nothing is stored.
        package let recipient: Recipient
        /// How they follow the event's topic; nil where it is for everyone.
        package let follow: StoredFollow?
    }

    /// Opens the fan-outs of events that are kept, each once, and returns the pages that are to be published.
    ///
    /// Who follows by now is meant. Of an event that was cancelled nothing comes. Where the fan-out is there already, the
    /// pages come that nobody has taken: whoever opened it may have died before they were published. The answers are in the
    /// order of `plans`.
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
            // Of copies in one batch the first one has the page.
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

    /// Takes a page into a worker's hands, and plans the next ones.
    ///
    /// Nobody takes what another has, unless its message was `redelivered`, or five minutes have passed. A page that was
    /// taken by too many has killed them: its fan-out pauses.
    package func take(
        _ page: FanoutPage,
        as claim: Claim,
        redelivered: Bool
    ) async throws(PostgresError) -> TakenPage {
        let place: [Parameter] = [.integer(page.fanout), .integer(page.page)]
        let usersPerPage = usersPerPage
        return try await pool.transaction { (connection) throws(PostgresError) -> TakenPage in
            guard let fanout = try HeldFanout.hold(page.fanout, on: connection) else { return .over }
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
            let range = OpenPage.Range(
                app: app,
                topic: fanout.topic,
                snapshot: fanout.startedAt,
                after: try taken.text(0, 0),
                upto: try taken.text(0, 1)
            )
            return .open(
                OpenPage(
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

    /// As often as the broker hands a message out again.
    private static let mostTakes = 20

    /// Pages of a fan-out that nobody has taken: their messages may have died with a worker.
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

    /// Who is on a page, as far as they were there at the snapshot and still are, with all that is known of them; how each
    /// follows, where it is a topic.
    package func audience(of page: OpenPage) async throws(PostgresError) -> [Listener] {
        let range = page.range
        let bounds: [Parameter] = [.instant(range.snapshot), .text(range.after), .text(range.upto)]
        let rows =
            if let topic = range.topic {
                try await pool.run(FanoutStatements.followers, [.text(range.app.text), .text(topic)] + bounds)
            } else {
                try await pool.run(FanoutStatements.everyone, [.text(range.app.text)] + bounds)
            }
        var reader = RecipientReader()
        return try rows.compactMap { (rows, row) throws(PostgresError) -> Listener? in
            guard let user = UserID(validating: try rows.text(row, 0)) else { return nil }
            var key = RecipientKey(app: range.app, user: user)
            let recipient = try reader.read(rows, row, from: 1, numbering: &key)
            let follow = range.topic == nil ? nil : try StoredFollow(rows, row, from: 1 + RecipientReader.width)
            return Listener(key: key, recipient: recipient, follow: follow)
        }
    }

    /// Ends a page and plans the next one; returns what is to be published.
    ///
    /// Where the page had ended before, that is what nobody has taken, since whoever ended it may not have heard of it. With
    /// its last page the fan-out is finished.
    package func finish(_ page: FanoutPage, _ tally: PageTally) async throws(PostgresError) -> [FanoutPage] {
        let (number, usersPerPage) = (Parameter.integer(page.fanout), usersPerPage)
        return try await pool.transaction { (connection) throws(PostgresError) in
            guard let fanout = try HeldFanout.hold(page.fanout, on: connection),
                try connection.run(FanoutStatements.endPage, [number, .integer(page.page)]).affectedCount > 0
            else { return try Self.untaken(of: page.fanout, on: connection) }
            let counts = [tally.users, tally.recorded, tally.sent].map { Parameter.integer(Int64($0)) }
            let next = try fanout.topUp(on: connection, usersPerPage)
            _ = try connection.run(FanoutStatements.count, [number] + counts)
            return next
        }
    }

    /// Gives a page out of a worker's hands, since it cannot be worked on for now.
    package func putBack(_ page: FanoutPage, takenAs claim: Claim) async throws(PostgresError) {
        let parameters = [page.fanout, page.page, claim.number].map { Parameter.integer($0) }
        _ = try await pool.run(FanoutStatements.putBack, parameters)
    }

    /// Stops a fan-out that cannot go on, until somebody who knows why resumes it.
    package func pause(_ page: FanoutPage, because trouble: String) async throws(PostgresError) {
        try await pool.transaction { (connection) throws(PostgresError) in
            guard let fanout = try HeldFanout.hold(page.fanout, on: connection) else { return }
            if fanout.isRunning { try Self.pause(page, because: trouble, on: connection) }
            // Another page was first, or an operator: this one waits for the same word.
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

    /// Takes pages of running fan-outs that no message names, or whose message has been lost, to have them published.
    package func takeForgotten(
        atMost limit: Int,
        lostAfter grace: Duration
    ) async throws(PostgresError) -> [FanoutPage] {
        let rows = try await pool.run(
            FanoutStatements.forgotten,
            [.integer(Int64(limit)), .integer(grace.milliseconds)]
        )
        return try rows.map { (rows, row) throws(PostgresError) in try FanoutPage(rows, row) }
    }

    /// Lets them come up again at once, since no message names them for all that is known.
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

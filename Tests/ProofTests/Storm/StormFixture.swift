import AMQP
import BellhopRules
import Foundation
import IntegrationSupport
import Sandbox
import Postgres
import TestSupport

/// An app whose users are reached through all five providers, and a worker that sends to all of them.
struct StormFixture: Sendable {
    let stage: Stage
    let sandbox: ProviderSandbox
    let worker: Role
    let scheduler: Role
    private let producer: Producer

    /// The providers whose faults change, each with separate users.
    ///
    /// The user `ada` has a browser and a mailbox, whose providers have no faults.
    enum Way: String, CaseIterable {
        case fcm
        case expo
        case apns

        /// The number of users per provider who receive a push before the storm, a third of the users in the storm.
        ///
        /// An event names at most 1,000 users.
        static let few = Proof.isFull ? 330 : 40
        static let many = 3 * few

        var provider: ProviderName {
            switch self {
            case .fcm: .fcm
            case .expo: .expo
            case .apns: .apns
            }
        }

        func users(_ count: Int) -> [String] { (0..<count).map { "\(rawValue)-\($0)" } }

        func token(of number: Int) -> String {
            switch self {
            case .fcm: "token-\(number)"
            case .expo: "ExponentPushToken[token-\(number)]"
            case .apns: String(format: "%064x", number + 0xA00000)
            }
        }
    }

    /// Runs a body with a new sandbox, a worker and a scheduler, with every device registered.
    static func with(_ body: (StormFixture) async throws -> Void) async throws {
        let sandbox = try await ProviderSandbox.start()
        let result: Result<Void, any Error>
        do {
            try await Stage.with { stage in
                let settings = [
                    "BELLHOP_PROVIDERS": try ProvidersFile(in: stage.folder, ["drop": sandbox]).path,
                    "BELLHOP_CATALOGS": try catalogs(in: stage.folder), "BELLHOP_RETRY_LIMIT": "20",
                    "BELLHOP_LEASE": PushFault.longLease,
                ]
                let worker = try await stage.worker(settings)
                let scheduler = try await stage.scheduler(settings)
                try await Producer.with(try stage.broker) { producer in
                    let fixture = StormFixture(
                        stage: stage,
                        sandbox: sandbox,
                        worker: worker,
                        scheduler: scheduler,
                        producer: producer
                    )
                    try await fixture.register()
                    try await body(fixture)
                }
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await sandbox.stop(grace: .zero)
        try result.get()
    }

    /// Writes the catalogue of drop with APNs among its providers, and the other apps' catalogues, whose types are
    /// bound on the broker.
    private static func catalogs(in folder: URL) throws -> String {
        let text = try ServerFixture.changed(
            "drop",
            replacing: #"providers: ["expo", "webpush", "fcm"]"#,
            with: #"providers: ["expo", "webpush", "fcm", "apns"]"#
        )
        let place = folder.appendingPathComponent("catalogs")
        try FileManager.default.copyItem(at: Program.catalogs, to: place)
        try Data(text.utf8).write(to: place.appendingPathComponent("drop.json5"))
        return place.path
    }

    private func register() async throws {
        var feeds = [try browserOfAda(), feed("recipient", #"{"userId":"ada","email":"ada@example.com"}"#)]
        for way in Way.allCases {
            for (number, user) in way.users(Way.many).enumerated() {
                let platform = way == .apns ? "ios" : "android"
                let device = #""token":"\#(way.token(of: number))","platform":"\#(platform)""#
                let body = #"{"userId":"\#(user)",\#(device),"provider":"\#(way.rawValue)"}"#
                feeds.append(feed("subscription", body))
            }
        }
        try await publish(feeds)
        try await eventually("the devices are registered") {
            let devices = try await stage.count("push_subscriptions")
            let people = try await stage.count("recipients")
            return devices == Way.allCases.count * Way.many + 1 && people == 1
        }
        // The devices count as reached: their providers have accepted pushes for them before.
        _ = try await stage.owner.run(Statement("UPDATE push_subscriptions SET reached_at = now()"), [])
    }

    private func browserOfAda() throws -> OutgoingMessage {
        let subscription = try sandbox.makeWebPushSubscription()
        let body: JSONValue = [
            "userId": "ada", "token": subscription["endpoint"] ?? .null, "platform": "web", "provider": "webpush",
            "permission": "granted", "subscription": .object(subscription),
        ]
        return feed("subscription", String(decoding: JSONWriter.canonicalBytes(of: body), as: UTF8.self))
    }

    private func feed(_ kind: String, _ body: String) -> OutgoingMessage {
        OutgoingMessage(
            exchange: stage.names.events,
            routingKey: "drop.\(kind).upserted",
            body: Array(body.utf8)
        )
    }

    private func publish(_ messages: [OutgoingMessage]) async throws {
        let outcomes = await producer.publisher.publish(messages)
        guard outcomes.allSatisfy({ $0 == .confirmed }) else { throw ProofFailure("a message was not confirmed") }
    }

    // MARK: - Faults

    /// Publishes one event for `users` users of every provider, all in the urgent lane.
    func gust(_ id: String, users: Int) async throws {
        try await publish(Way.allCases.map { event("\(id)-\($0.rawValue)", to: $0.users(users)) })
    }

    /// Publishes events for ada in turn and returns the time until both her browser and her mailbox had each.
    func measure(_ name: String, steps: Int) async throws -> [Duration] {
        var spans: [Duration] = []
        for step in 0..<steps {
            let (browser, mailbox) = (arrived(.webpush), arrived(.email))
            let began = ContinuousClock.now
            try await publish([event("\(name)-\(step)", to: ["ada"])])
            try await eventually("event \(name)-\(step) has arrived twice") {
                arrived(.webpush) > browser && arrived(.email) > mailbox
            }
            spans.append(.now - began)
        }
        return spans
    }

    private func arrived(_ provider: ProviderName) -> Int {
        let answers = sandbox.summary.providers[provider]?.answers ?? [:]
        return answers.reduce(0) { $0 + ((200..<300).contains($1.key) ? $1.value : 0) }
    }

    private func event(_ id: String, to users: [String]) -> OutgoingMessage {
        let names = users.map { "\"\($0)\"" }.joined(separator: ",")
        let body = #"{"id":"\#(id)","to":{"users":[\#(names)]},"title":"Hei","body":"på deg"}"#
        return OutgoingMessage(
            exchange: stage.names.events,
            routingKey: "drop.security",
            body: Array(body.utf8)
        )
    }

    // MARK: - End

    /// Waits until each provider's users have `count` records, nothing is owed and no receipt is open.
    ///
    /// The receipts become due immediately.
    func settle(_ count: Int) async throws {
        try await eventually("everything is recorded and nothing is owed", atMost: .proof) {
            let records = try await stage.count("notifications WHERE user_id <> 'ada'")
            guard records >= Way.allCases.count * count else { return false }
            _ = try await stage.owner.run(
                "UPDATE ledger SET due_at = now() WHERE state = 'a' AND due_at > now() + interval '10 min'"
            )
            return try await stage.count("deliveries WHERE state IN (\(PushBalance.owed), 'accepted')") == 0
        }
    }

    /// Compares the ledger of one provider with the requests that the provider received.
    func balance(_ provider: ProviderName, expected: Set<String>) async throws -> PushBalance {
        let rows = try await stage.owner.run(
            Statement(
                """
                SELECT n.event_id || '|' || n.user_id, coalesce(s.device_token, 'ada@example.com'),
                       CASE d.channel WHEN 'email' THEN '<' || n.id || '@drop.example>' ELSE n.id END,
                       concat_ws(' ', d.state, d.reason), d.attempts::bigint, d.unknown_sends::bigint
                FROM deliveries d
                JOIN notifications n ON n.app = d.app AND n.user_id = d.user_id AND n.id = d.notification_id
                LEFT JOIN push_subscriptions s ON s.app = d.app AND s.profile_id = d.user_id AND s.id = d.target
                WHERE coalesce(s.provider, d.channel) = $1
                """
            ),
            [.text(provider.rawValue)]
        )
        let lines = try rows.indices.map { row in
            PushBalance.Line(
                record: try rows.text(row, 0),
                push: .init(token: try rows.text(row, 1), tag: try rows.text(row, 2)),
                state: try rows.text(row, 3),
                attempts: Int(try rows.integer(row, 4)),
                unknownSends: Int(try rows.integer(row, 5))
            )
        }
        // Requests for receipts do not count here.
        let received = sandbox.received(provider).filter { !$0.path.hasSuffix("getReceipts") }
        return PushBalance(expected: expected, lines: lines, received: received, counted: 0)
    }
}

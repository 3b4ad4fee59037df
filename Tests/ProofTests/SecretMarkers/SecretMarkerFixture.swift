import AMQP
import BellhopRules
import Foundation
import IntegrationSupport
import Sandbox
import TestSupport

/// The app drop with markers in all secrets, and a worker and a scheduler with full logging.
struct SecretMarkerFixture {
    let stage: Stage
    let sandbox: ProviderSandbox
    let worker: Role
    let scheduler: Role
    let settings: [String: String]
    private(set) var markers: SecretMarkers
    private let producer: Producer

    /// The outcomes for devices of each kind: success, or the failure that the token selects.
    private static let fates = ["well", "dead", "gone", "rate", "provider"]

    static func with(_ body: (inout SecretMarkerFixture) async throws -> Void) async throws {
        var markers = SecretMarkers()
        var options = SandboxOptions()
        options.mailCredentials.password = markers.make("mail-password")
        options.expoAccessToken = markers.make("expo-token")
        let sandbox = try await ProviderSandbox.start(options)
        let result: Result<Void, any Error>
        do {
            var secrets = ProvidersFile.Secrets()
            secrets.mailPassword = options.mailCredentials.password
            secrets.expoAccessToken = options.expoAccessToken
            secrets.unsubscribeKey = markers.plant("unsubscribe-key", "kanari-unsubscribe-\(markers.mark)-0123456789")
            markers.plant("vapid-key", secrets.vapidKey)
            markers.plant("apns-key", pem: String(decoding: sandbox.apnsKey.p8, as: UTF8.self))
            let account = try JSONParser().parse(sandbox.serviceAccountJSON).get()
            markers.plant("service-account", pem: account["private_key"]?.string ?? "")
            try await Stage.with { stage in
                let settings = [
                    "BELLHOP_PROVIDERS": try ProvidersFile(in: stage.folder, ["drop": sandbox], secrets).path,
                    "BELLHOP_LOG": "debug", "BELLHOP_RETRY_LIMIT": "2",
                ]
                let (worker, scheduler) = (try await stage.worker(settings), try await stage.scheduler(settings))
                try await Producer.with(try stage.broker) { producer in
                    var fixture = SecretMarkerFixture(
                        stage: stage,
                        sandbox: sandbox,
                        worker: worker,
                        scheduler: scheduler,
                        settings: settings,
                        markers: markers,
                        producer: producer
                    )
                    try await body(&fixture)
                }
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await sandbox.stop(grace: .zero)
        try result.get()
    }

    // MARK: - Inputs

    /// Registers devices and mailboxes of every kind and outcome, all for the same users.
    mutating func register() async throws {
        var feeds: [(key: String, body: String)] = []
        for fate in Self.fates {
            let fcm = markers.plant("fcm-token", "\(fate)-kanari-fcm-\(markers.mark)")
            let expo = markers.plant("expo-device", "\(fate)-kanari-expo-\(markers.mark)")
            feeds.append(subscription(fate, "android", "fcm", fcm))
            feeds.append(subscription(fate, "ios", "expo", "ExponentPushToken[\(expo)]"))
            let start = ["dead": "unknown-", "gone": "full-", "rate": "grey-", "provider": "spam-"][fate] ?? ""
            let address = markers.plant("address", "\(start)kanari-\(fate)-\(markers.mark)@example.com")
            feeds.append(("drop.recipient.upserted", #"{"userId":"\#(fate)","email":"\#(address)"}"#))
            let browser = try sandbox.makeWebPushSubscription()
            let endpoint = browser["endpoint"]?.string ?? ""
            markers.plant("endpoint", String(endpoint.split(separator: "/").last ?? "-"))
            for key in ["p256dh", "auth"] { markers.plant("browser-\(key)", browser["keys"]?[key]?.string ?? "-") }
            let body: JSONValue = [
                "userId": .string(fate), "token": .string(endpoint), "platform": "web", "provider": "webpush",
                "subscription": .object(browser),
            ]
            let text = String(decoding: JSONWriter.canonicalBytes(of: body), as: UTF8.self)
            feeds.append(("drop.subscription.upserted", text))
            if fate == "gone" { sandbox.endWebPushSubscription(endpoint: endpoint) }
        }
        try await publish(feeds)
        try await eventually("the devices are registered") {
            try await stage.count("push_subscriptions") == 3 * Self.fates.count
        }
    }

    private func subscription(_ user: String, _ platform: String, _ provider: String, _ token: String) -> (
        String, String
    ) {
        let device = #""token":"\#(token)","platform":"\#(platform)","provider":"\#(provider)""#
        return ("drop.subscription.upserted", #"{"userId":"\#(user)",\#(device)}"#)
    }

    /// Publishes an event with private text to all users, and waits until each delivery has been attempted.
    mutating func event(_ id: String) async throws {
        let content = SecretMarkers.personal.map { (kind: $0, text: markers.make($0)) }
        let names = Self.fates.map { "\"\($0)\"" }.joined(separator: ",")
        let body =
            #"{"id":"\#(id)","to":{"users":[\#(names)]},"#
            + #""title":"\#(content[0].text)","body":"\#(content[1].text)","#
            + #""data":{"secret":"\#(content[2].text)"},"metadata":{"secret":"\#(content[3].text)"}}"#
        try await publish([("drop.security", body)])
        try await eventually("every delivery of \(id) was tried") {
            let lines = "FROM deliveries d JOIN notifications n ON n.id = d.notification_id WHERE n.event_id = '\(id)'"
            let tried = try await stage.column("SELECT (count(*) FILTER (WHERE d.state <> 'sending'))::text \(lines)")
            let all = try await stage.column("SELECT count(*)::text \(lines)")
            return tried == all && all != ["0"]
        }
    }

    /// Publishes messages with every kind of fault and with private text.
    mutating func faults() async throws {
        let word = markers.make("title")
        let misplaced = markers.make(SecretMarkers.misplaced)
        let token = markers.make("fcm-token")
        let bodies: [(key: String, body: String)] = [
            ("drop.security", "{\"title\": \"\(word)\""), ("drop.security", #"{"id":"f1","title":"\#(word)"}"#),
            ("drop.security", #"{"id":"f2","to":{"user":"u"},"title":{"\#(misplaced)":"\#(word)"}}"#),
            ("drop.security", #"{"id":"f3","to":{"user":"u"},"title":"t","expiresAt":"\#(misplaced)"}"#),
            ("drop.security", #"{"id":"f4","to":{"user":"u"},"data":{"device":"\#(word)"}}"#),
            ("drop.security", #"{"id":"well-1","to":{"user":"well"},"title":"\#(word)"}"#),
            ("drop.subscription.upserted", #"{"userId":"u","token":"\#(token)","platform":"\#(misplaced)"}"#),
            ("drop.subscription.upserted", #"{"userId":"u","token":["\#(token)"],"platform":"ios"}"#),
            ("drop.recipient.upserted", #"{"userId":"u","email":"\#(word) \#(token)"}"#),
        ]
        let before = try await stage.count("dead_letters")
        try await publish(bodies)
        try await eventually("they are filed") {
            try await stage.count("dead_letters") >= before + bodies.count
        }
    }

    private func publish(_ messages: [(key: String, body: String)]) async throws {
        let outcomes = await producer.publisher.publish(
            messages.map { .init(exchange: stage.names.events, routingKey: $0.key, body: Array($0.body.utf8)) }
        )
        guard outcomes.allSatisfy({ $0 == .confirmed }) else { throw ProofFailure("a message was not confirmed") }
    }

    // MARK: - Outputs

    /// Runs a command to its end and returns its output, whatever its exit code is.
    func says(_ arguments: [String], _ changes: [String: String] = [:]) async throws -> String {
        let environment = stage.environment(settings.merging(changes) { $1 })
        let child = try stage.start(Program.bellhop, arguments, environment)
        try await child.ending()
        return child.log
    }

    /// Makes a marker for the test.
    mutating func make(_ what: String) -> String { markers.make(what) }
}

import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Settings
import Store
import Testing

extension ServerFixture {
    /// Applies a feed message of the app drop.
    func apply(_ body: String, as type: String) async throws {
        let text = #"{"app":"drop","eventType":"\#(type)","# + body.dropFirst()
        let envelope = InboundEnvelope(body: Array(text.utf8), source: .elsewhere)
        guard case .feed(let update) = try SubmissionParser(catalogs).parse(envelope).get() else {
            Issue.record("\(type) is not a feed message")
            return
        }
        let entry = FeedEntry(update: update, arrival: SystemTime().timestamp)
        _ = try await WorkerStore(pool: pool).apply([entry])
    }
}

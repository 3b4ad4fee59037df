package import BellhopRules
package import HTTPTransfer

/// Asks Expo for the receipts of accepted messages.
///
/// Receipts are available about a quarter of an hour after acceptance, and for a day.
package struct ExpoReceipts: ReceiptSource {
    package var provider: PushProvider { .expo }

    private let service: ExpoService

    /// The maximum number of tickets in one request.
    package static let limit = 1000

    /// The wait after a request for receipts that failed because of Bellhop's settings.
    package static let configurationWait: Duration = .seconds(60)

    package init(service: ExpoService) { self.service = service }

    package func ask(_ tickets: [String]) async -> [ReceiptAnswer] {
        guard !tickets.isEmpty else { return [] }
        let parts = stride(from: 0, to: tickets.count, by: Self.limit).map { start in
            Array(tickets[start..<min(start + Self.limit, tickets.count)])
        }
        let requests = parts.map { service.request("getReceipts", Self.body($0)) }
        let outcomes = await service.send(requests)
        return zip(parts, outcomes).flatMap { Self.read($1, of: $0) }
    }

    /// Returns the body `{"ids": […]}`.
    package static func body(_ tickets: [String]) -> [UInt8] {
        JSONWriter.canonicalBytes(of: ["ids": .array(tickets.map(JSONValue.string))])
    }

    /// Returns one answer for each ticket.
    package static func read(_ outcome: TransferOutcome, of tickets: [String]) -> [ReceiptAnswer] {
        switch outcome {
        // A request for receipts can be repeated, whether or not Expo processed it.
        case .notSent(let error), .unknown(let error):
            return all(tickets, .unanswered(VerdictReason(error.code), notBefore: ExpoAnswer.shortestWait))
        case .answered(let answer):
            let value = ExpoAnswer.parser.parse(answer.body).value
            if let trouble = ExpoAnswer.trouble(answer, value) { return all(tickets, unanswered(trouble)) }
            guard let receipts = value?["data"]?.object else {
                return all(tickets, .unanswered(.unexpectedAnswer, notBefore: configurationWait))
            }
            // Lookups in a JSON object are linear, so a thousand lookups need an index.
            let found = Dictionary(receipts.members.map { ($0.key, $0.value) }) { first, _ in first }
            return tickets.map { found[$0].map(read) ?? .missing }
        }
    }

    private static func read(_ receipt: JSONValue) -> ReceiptAnswer {
        switch receipt["status"]?.string {
        case "ok": .known(.delivered(providerMessageID: nil))
        case "error": .known(ExpoMessageError.verdict(receipt))
        default: .unanswered(.unexpectedAnswer, notBefore: configurationWait)
        }
    }

    private static func unanswered(_ trouble: ExpoAnswer.Reading) -> ReceiptAnswer {
        switch trouble {
        case .all(let verdict), .halve(let verdict):
            .unanswered(verdict.reason ?? .unexpectedAnswer, notBefore: verdict.notBefore ?? configurationWait)
        case .verdicts, .mixed: .unanswered(.unexpectedAnswer, notBefore: configurationWait)
        }
    }

    private static func all(_ tickets: [String], _ answer: ReceiptAnswer) -> [ReceiptAnswer] {
        Array(repeating: answer, count: tickets.count)
    }
}

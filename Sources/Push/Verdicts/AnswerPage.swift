/// Tells a page from what a provider's interface answers.
enum AnswerPage {
    /// Whether a body is there and is no JSON object: a gateway or a portal speaks in the provider's place.
    static func isOne(_ body: [UInt8]) -> Bool {
        guard let beginning = body.first(where: { $0 > 0x20 }) else { return false }
        return beginning != UInt8(ascii: "{")
    }
}

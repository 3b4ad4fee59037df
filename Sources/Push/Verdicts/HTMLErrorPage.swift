/// Distinguishes a page from the answer of a provider's interface.
enum HTMLErrorPage {
    /// Returns whether a body is present and is not a JSON object, so that a gateway or a portal has answered instead
    /// of the provider.
    static func isOne(_ body: [UInt8]) -> Bool {
        guard let beginning = body.first(where: { $0 > 0x20 }) else { return false }
        return beginning != UInt8(ascii: "{")
    }
}

package import HTTPTransfer

extension ProviderConfiguration {
    /// How one app sends mails.
    package struct Email: Sendable {
        package let letterhead: Letterhead

        /// Where the relay is, who signs in, and how many connections there may be.
        package let transport: SMTPTransportOptions

        /// Mails handed over at once at most, of which each connection carries one.
        ///
        /// Default: 32.
        package let window: Int
    }
}

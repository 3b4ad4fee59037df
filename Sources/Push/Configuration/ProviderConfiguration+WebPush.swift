package import HTTPTransfer

extension ProviderConfiguration {
    /// How one app reaches browsers.
    package struct WebPush: Sendable {
        /// Under which push services reach whoever runs this: a `mailto:` or `https:` URL.
        package let subject: String

        package let keys: VAPIDKeys

        /// Where push services may be.
        ///
        /// Default: those of the known browsers, at port 443.
        package let hosts: PushServiceHosts

        /// Default: public addresses only.
        package let addressPolicy: AddressPolicy

        /// PEM file with the authorities to trust instead of the system's.
        package let authoritiesFile: String?

        /// Connections to one host at the same time.
        ///
        /// Default: 2.
        package let connections: Int

        /// Requests in flight at most, over all hosts.
        ///
        /// Default: 500.
        package let window: Int
    }
}

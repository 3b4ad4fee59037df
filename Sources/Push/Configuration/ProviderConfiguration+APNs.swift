extension ProviderConfiguration {
    /// How one app reaches APNs.
    package struct APNs: Sendable {
        package let key: APNsKey

        /// The app's bundle id.
        package let topic: String

        /// Scheme, host and port for devices in production, without a slash at the end.
        ///
        /// Default: `https://api.push.apple.com`.
        package let endpoint: String

        /// The same for development builds.
        ///
        /// Default: `https://api.sandbox.push.apple.com`.
        package let sandboxEndpoint: String

        /// PEM file with the authorities to trust instead of the system's.
        package let authoritiesFile: String?

        /// Connections at the same time, to each environment.
        ///
        /// Default: 5.
        package let connections: Int

        /// Requests in flight at most.
        ///
        /// Default: 500.
        package let window: Int
    }
}

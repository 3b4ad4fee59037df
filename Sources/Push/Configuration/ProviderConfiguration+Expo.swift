package import ServiceRuntime

extension ProviderConfiguration {
    /// How one app reaches Expo's push service.
    package struct Expo: Sendable {
        /// For projects with "enhanced push security"; nil sends without one.
        package let accessToken: Secret?

        /// Scheme, host and port, without a slash at the end.
        ///
        /// Default: `https://exp.host`.
        package let endpoint: String

        /// PEM file with the authorities to trust instead of the system's.
        package let authoritiesFile: String?

        /// Connections at the same time.
        ///
        /// Default: 1, since HTTP/2 carries all requests on it.
        package let connections: Int

        /// Messages in flight at most.
        ///
        /// Default: 600, which is what Expo takes of a project in a second.
        package let window: Int

        /// What the project may send.
        ///
        /// Default: Expo's own limit, 600 a second.
        package let budget: PushBudget
    }
}

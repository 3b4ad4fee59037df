package import BellhopRules

/// What `BELLHOP_PROVIDERS` says: through whom each app's pushes go, and with which keys; always sound.
package struct ProviderConfiguration: Sendable {
    package let apps: [AppID: Providers]
    /// The files that keys and passwords were read from.
    package var secretFiles: [String] = []

    /// Nothing can be pushed.
    package static let none = ProviderConfiguration(apps: [:])

    /// The providers of one app; nil for those it does not use.
    package struct Providers: Sendable {
        package var fcm: FCM?
        package var apns: APNs?
        package var webPush: WebPush?
        package var email: Email?
        package var expo: Expo?
    }

    /// How one app reaches FCM.
    package struct FCM: Sendable {
        package let serviceAccount: ServiceAccount

        /// Scheme, host and port, without a slash at the end.
        ///
        /// Default: `https://fcm.googleapis.com`.
        package let endpoint: String

        /// Where access tokens are fetched.
        ///
        /// Default: the account's own.
        package let tokenURI: String

        /// PEM file with the authorities to trust instead of the system's.
        package let authoritiesFile: String?

        /// Connections at the same time.
        ///
        /// Default: 5.
        package let connections: Int

        /// Requests in flight at most.
        ///
        /// Default: 500, which five connections of 100 streams carry.
        package let window: Int

        /// What the project may send.
        ///
        /// Default: Google's own quota, 600,000 a minute.
        package let budget: PushBudget
    }
}

/// One thing wrong in the providers' file, so that a person can go there and mend it.
package struct ProviderFault: Hashable, Sendable, CustomStringConvertible {
    package let file: String
    /// From 1; nil where the file as a whole is at fault, as is the column.
    package let line: Int?
    package let column: Int?
    /// The place inside the document.
    package let pointer: JSONPointer
    /// What was expected there, what was found, or what to do; never a secret.
    package let message: String

    /// File, place and expectation in one line: `providers.json5:3:12: /drop/fcm/window: expected …`.
    package var description: String {
        let place = [line, column].compactMap { $0.map { ":\($0)" } }.joined()
        return "\(file)\(place): \(pointer.text.isEmpty ? "" : "\(pointer.text): ")\(message)"
    }
}

/// Everything that is wrong in the providers' file, at once, in the order of its lines.
package struct ProviderFaults: Error, Hashable, Sendable, CustomStringConvertible {
    /// Never empty.
    package let faults: [ProviderFault]

    /// One line per fault.
    package var description: String { faults.map(\.description).joined(separator: "\n") }
}

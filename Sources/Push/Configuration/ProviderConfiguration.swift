package import BellhopRules
import ServiceRuntime

/// The validated content of the file that `BELLHOP_PROVIDERS` names: each app's providers and credentials.
package struct ProviderConfiguration: Sendable {
    package let apps: [AppID: Providers]
    /// The files from which keys and passwords were read.
    package var secretFiles: [String] = []

    /// A configuration without providers.
    package static let none = ProviderConfiguration(apps: [:])

    /// The providers of one app; each unused provider is `nil`.
    package struct Providers: Sendable {
        package var fcm: FCM?
        package var apns: APNs?
        package var webPush: WebPush?
        package var email: Email?
        package var expo: Expo?
    }

    /// The connection settings of a service, and the limits of its use.
    package struct ConnectionSettings: Hashable, Sendable {
        /// The PEM file of trusted authorities, which replaces the system's.
        package let authoritiesFile: String?
        /// The maximum number of concurrent connections to each endpoint.
        package let connections: Int
        /// The maximum number of requests in flight over all connections.
        package let window: Int
    }
}

extension ProviderConfiguration {
    /// The information about an app's providers that clients receive.
    package struct ClientConfiguration: Sendable {
        /// The public half of the key by which browsers recognise the sender.
        package let webPushKey: String?
        /// The allowed hosts of the endpoints of the app's browsers; `nil` for an app without Web Push.
        package let endpointHosts: PushServiceHosts?
        package let unsubscribe: UnsubscribeLink?
        /// The configured providers of devices.
        package let providers: Set<PushProvider>
    }

    /// Reads only the parts of the file that clients receive.
    ///
    /// Of the keys for sending, it reads only those whose public half clients need.
    package static func readForClients(file: String) throws(DocumentFaults) -> [AppID: ClientConfiguration] {
        let reading = DocumentReading(try bytes(of: file), file: file, limits: .init(bytes: longestFile, depth: 16))
        let parts = reading.scope(expected: "an object with a member for each app").map(
            ProviderReader(file: file).clientParts
        )
        return try reading.result(parts).get()
    }

    /// Reads the file and the key files that it names; relative paths start at the file's folder.
    package static func read(file: String) throws(DocumentFaults) -> ProviderConfiguration {
        try read(bytes(of: file), file: file)
    }

    private static func bytes(of file: String) throws(DocumentFaults) -> [UInt8] {
        switch SmallFile.read(file, atMost: longestFile) {
        case .success(let bytes): return bytes
        case .failure(let problem):
            throw DocumentFaults(
                unreadable: file,
                "the providers' file \(problem.text): check BELLHOP_PROVIDERS"
            )
        }
    }

    /// Reads a text as the content of the file at that path.
    package static func read(_ bytes: [UInt8], file: String) throws(DocumentFaults) -> ProviderConfiguration {
        let reading = DocumentReading(bytes, file: file, limits: .init(bytes: longestFile, depth: 16))
        let reader = ProviderReader(file: file)
        let apps = reading.scope(expected: "an object with a member for each app").map(reader.apps)
        let configuration = apps.map { ProviderConfiguration(apps: $0, secretFiles: reader.secretFiles) }
        return try reading.result(configuration).get()
    }

    /// The maximum size of the file in bytes.
    ///
    /// A configuration is small, so a larger file is a different one.
    static let longestFile = 1 << 20
}

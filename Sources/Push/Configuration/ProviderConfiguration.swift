package import BellhopRules
import ServiceRuntime

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

    /// How a service is connected to, and how much of it is used at once.
    package struct Reach: Hashable, Sendable {
        /// PEM file with the authorities to trust instead of the system's.
        package let authoritiesFile: String?
        /// Connections at the same time, to each endpoint.
        package let connections: Int
        /// Requests in flight at most, over all connections.
        package let window: Int
    }
}

extension ProviderConfiguration {
    /// What clients are told of an app's providers.
    package struct ClientPart: Sendable {
        /// The public half of the key by which browsers know who pushes.
        package let webPushKey: String?
        /// Where endpoints of the app's browsers may be; `nil` for an app without Web Push.
        package let endpointHosts: PushServiceHosts?
        package let unsubscribe: UnsubscribeLink?
    }

    /// Reads no more of the file than clients are told of, and none of the keys by which anything is sent but those of which
    /// they know the public half.
    package static func readForClients(file: String) throws(DocumentFaults) -> [AppID: ClientPart] {
        let reading = DocumentReading(try bytes(of: file), file: file, limits: .init(bytes: longestFile, depth: 16))
        let parts = reading.scope(expected: "an object with a member for each app").map(
            ProviderReader(file: file).clientParts
        )
        return try reading.result(parts).get()
    }

    /// Reads the file and the key files that it names; relative paths count from the file's own folder.
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

    /// Reads a text that stands for the file of that path.
    package static func read(_ bytes: [UInt8], file: String) throws(DocumentFaults) -> ProviderConfiguration {
        let reading = DocumentReading(bytes, file: file, limits: .init(bytes: longestFile, depth: 16))
        let reader = ProviderReader(file: file)
        let apps = reading.scope(expected: "an object with a member for each app").map(reader.apps)
        let configuration = apps.map { ProviderConfiguration(apps: $0, secretFiles: reader.secretFiles) }
        return try reading.result(configuration).get()
    }

    /// A configuration is small; what is larger is some other file.
    static let longestFile = 1 << 20
}

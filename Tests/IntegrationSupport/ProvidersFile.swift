package import Foundation
package import Push
package import Sandbox

/// The file of `BELLHOP_PROVIDERS` for apps with simulated providers: all five of them, with the keys next to it.
package struct ProvidersFile: Sendable {
    package let path: String

    /// Keys and passwords that protect only a test.
    package struct Secrets: Sendable {
        package var mailPassword = SandboxOptions().mailCredentials.password
        package var unsubscribeKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
        /// A private key that RFC 8291 publishes.
        package var vapidKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
        package var expoAccessToken: String?

        package init() {}
    }

    /// Writes the file of some apps, each with its sandbox, and the files that it names into `folder`.
    package init(in folder: URL, _ sandboxes: [String: ProviderSandbox], _ secrets: Secrets = Secrets()) throws {
        func write(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: folder.appendingPathComponent(name))
        }
        try write("mail-password", secrets.mailPassword + "\n")
        try write("unsubscribe-key", secrets.unsubscribeKey)
        try write("vapid-key", secrets.vapidKey)
        if let token = secrets.expoAccessToken { try write("expo-token", token + "\n") }
        var apps: [String] = []
        for (app, sandbox) in sandboxes.sorted(by: { $0.key < $1.key }) {
            try write("account-\(app).json", String(decoding: sandbox.serviceAccountJSON, as: UTF8.self))
            try write("apns-\(app).p8", String(decoding: sandbox.apnsKey.p8, as: UTF8.self))
            apps.append("\(app): {\(Self.providers(of: app, sandbox, secrets))}")
        }
        try write("providers.json5", "{\(apps.joined(separator: ",\n"))}")
        path = folder.appendingPathComponent("providers.json5").path
    }

    private static func providers(of app: String, _ sandbox: ProviderSandbox, _ secrets: Secrets) -> String {
        let trust = #"caFile: "\#(sandbox.caFile)""#
        let expoToken = secrets.expoAccessToken == nil ? "" : #", accessTokenFile: "expo-token""#
        let key = sandbox.apnsKey
        return """
            fcm: {serviceAccount: "account-\(app).json", endpoint: "\(sandbox.fcmEndpoint)", \(trust)},
            expo: {endpoint: "\(sandbox.expoEndpoint)", \(trust)\(expoToken)},
            apns: {key: "apns-\(app).p8", keyID: "\(key.keyID)", teamID: "\(key.teamID)", topic: "com.example.bellhop",
              endpoint: "\(sandbox.apnsEndpoint)", sandboxEndpoint: "\(sandbox.apnsSandboxEndpoint)", \(trust)},
            webpush: {subject: "mailto:ops@example.com", keys: [{id: "main", privateKeyFile: "vapid-key"}],
              allowedHosts: ["localhost"], endpointPort: \(sandbox.address.port), allowPrivateAddresses: true, \(trust)},
            email: {server: "smtp://\(sandbox.smtpAddress)", user: "bellhop", passwordFile: "mail-password",
              from: "no-reply@\(app).example", linkBase: "https://\(app).example", \(trust),
              unsubscribe: {url: "\(unsubscribeBase(of: app))", keyFile: "unsubscribe-key"}},
            """
    }

    private static func unsubscribeBase(of app: String) -> String { "https://\(app).example/u" }

    /// Returns the subject of an unsubscribe link in an app's mail; `nil` if the link is not Bellhop's.
    package static func subject(ofLink link: String, from app: String) -> UnsubscribeLink.Target? {
        let base = unsubscribeBase(of: app)
        guard link.hasPrefix(base + "/"), let keys = UnsubscribeKeys(file: Array(Secrets().unsubscribeKey.utf8)) else {
            return nil
        }
        return UnsubscribeLink(base: base, keys: keys).check(String(link.dropFirst(base.count + 1)))
    }
}

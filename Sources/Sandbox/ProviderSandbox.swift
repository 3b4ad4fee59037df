package import BellhopRules
import Foundation
import HTTPServer
package import ServiceRuntime

/// Emulators of the push providers on local ports, with TLS and HTTP/2 like the real services.
///
/// It runs from `start` until `stop`, even if no reference to it remains.
package final class ProviderSandbox: Sendable {
    /// The address of the providers' side, with the real port.
    package let address: ListenAddress
    /// The address of the control interface, with the real port.
    package let controlAddress: ListenAddress
    /// Replaces `https://fcm.googleapis.com`, without a trailing slash.
    package let fcmEndpoint: String
    /// Replaces `https://exp.host`, without a trailing slash.
    package let expoEndpoint: String
    /// Replaces `https://oauth2.googleapis.com/token`.
    package let tokenURI: String
    /// The base of browsers' endpoints, without a trailing slash.
    package let webPushEndpoint: String
    /// With `none`, only FCM and its token endpoint are answered at `address`.
    package let checking: SandboxOptions.Checking
    /// Replaces `https://api.push.apple.com`, without a trailing slash.
    package let apnsEndpoint: String
    /// Replaces `https://api.sandbox.push.apple.com`, without a trailing slash.
    package let apnsSandboxEndpoint: String
    /// The key file, the key's id and its team's id, for the configuration of a sender to APNs.
    package let apnsKey: (p8: [UInt8], keyID: String, teamID: String)
    /// The address for mail submission with STARTTLS.
    package let smtpAddress: ListenAddress
    /// The address for mail submission with TLS from the start.
    package let smtpsAddress: ListenAddress
    /// The certificate file of the authority that clients must trust.
    package let caFile: String
    /// The service account for the configuration of a sender to FCM.
    package let serviceAccountJSON: [UInt8]
    private let servers: [HTTP2Server]
    private let mail: MailServer
    private let control: HTTPServer
    private let log: ReceivedLog
    private let faults: FaultList
    private let arrivals: ArrivalLog?
    let browsers: BrowserSubscriptions
    private let isCAFileTemporary: Bool

    /// Creates an authority and an account, listens, and writes the files last, so that the sandbox is ready as soon as
    /// they exist.
    ///
    /// Throws a `SandboxError` and then leaves nothing behind.
    package static func start(_ options: SandboxOptions = SandboxOptions()) async throws -> ProviderSandbox {
        let socket = try ListeningSocket.listen(on: options.listen)
        let apns = (
            production: try ListeningSocket.listen(on: options.apnsListen),
            development: try ListeningSocket.listen(on: options.apnsSandboxListen)
        )
        let blueprint = try SandboxPlan(options, port: socket.address.port)
        let control = try startControl(options, blueprint)
        var servers: [HTTP2Server] = []
        do {
            let tls = try blueprint.identity.serverContext()
            let mail = try startMail(options, blueprint)
            do {
                var apnsLimits = options.limits
                apnsLimits.unprovenStreams = 1
                let handlers = blueprint.apnsHandlers
                servers.append(try HTTP2Server.start(socket, tls, options.limits, blueprint.handler))
                servers.append(try HTTP2Server.start(apns.production, tls, apnsLimits, handlers.production))
                servers.append(try HTTP2Server.start(apns.development, tls, apnsLimits, handlers.development))
                return try ProviderSandbox(options, blueprint, (servers, mail, control))
            } catch {
                await mail.stop(grace: .zero)
                throw error
            }
        } catch {
            for server in servers { await server.stop(grace: .zero) }
            await control.stop(grace: .zero)
            throw error
        }
    }

    private init(
        _ options: SandboxOptions,
        _ blueprint: SandboxPlan,
        _ running: (providers: [HTTP2Server], mail: MailServer, control: HTTPServer)
    ) throws(SandboxError) {
        (servers, mail, control) = running
        (smtpAddress, smtpsAddress) = (mail.address, mail.secureAddress)
        let origins = servers.map { "https://\(ListenAddress(host: options.announcedHost, port: $0.address.port))" }
        address = servers[0].address
        controlAddress = control.address
        fcmEndpoint = blueprint.origin
        expoEndpoint = blueprint.origin
        tokenURI = blueprint.tokenURI
        webPushEndpoint = String(blueprint.browsers.base.dropLast())
        checking = options.checking
        serviceAccountJSON = blueprint.serviceAccountJSON
        apnsEndpoint = origins[1]
        apnsSandboxEndpoint = origins[2]
        let account = blueprint.apnsAccount
        apnsKey = (try account.p8(), account.keyID, account.teamID)
        isCAFileTemporary = options.caFile == nil
        // The name is unique: the port of a sandbox that ends may belong to the next one before the file is deleted.
        caFile = options.caFile ?? NSTemporaryDirectory() + "bellhop-sandbox-\(UUID().uuidString).pem"
        log = blueprint.log
        faults = blueprint.faults
        arrivals = (blueprint.handler as? UncheckedHandler)?.noted
        browsers = blueprint.browsers
        if let file = options.serviceAccountFile { try Self.write(serviceAccountJSON, to: file, mode: 0o600) }
        if let file = options.apnsKeyFile { try Self.write(apnsKey.p8, to: file, mode: 0o600) }
        if let file = options.subscriptionFile {
            let subscription = try browsers.make(applicationServerKey: options.subscriptionKey)
            let json = JSONWriter.canonicalBytes(of: .object(browsers.json(of: subscription)))
            try Self.write(json, to: file, mode: 0o600)
        }
        try Self.write(Array(blueprint.authorityPEM.utf8), to: caFile, mode: 0o644)
    }

    private static func write(_ bytes: [UInt8], to path: String, mode: UInt32) throws(SandboxError) {
        do throws(OutputFile.Failure) {
            try OutputFile.write(bytes, to: path, mode: mode, predecessor: .replaced)
        } catch {
            throw SandboxError(.fileUnwritable, attempted: "writing \(path)", cameBack: error.reason)
        }
    }

    private static func startMail(
        _ options: SandboxOptions,
        _ blueprint: SandboxPlan
    ) throws(SandboxError) -> MailServer {
        let office = MailServerState(
            credentials: options.mailCredentials,
            tls: try blueprint.identity.serverContext(.anything),
            faults: blueprint.faults,
            log: blueprint.log,
            time: options.time
        )
        return try MailServer.start(try .listen(on: options.smtp), try .listen(on: options.smtps), office)
    }

    private static func startControl(_ options: SandboxOptions, _ blueprint: SandboxPlan) throws -> HTTPServer {
        let api = ControlAPI(
            log: blueprint.log,
            faults: blueprint.faults,
            browsers: BrowserControl(browsers: blueprint.browsers),
            unchecked: blueprint.handler as? UncheckedHandler
        )
        do {
            return try HTTPServer.start(listen: options.control, handler: api.router.respond(to:))
        } catch let error as HTTPServerError {
            throw SandboxError(error)
        }
    }

    /// Returns the requests that are kept, oldest first: of one provider or (`nil`) of all, and only those after the
    /// request with this number.
    package func received(_ provider: ProviderName? = nil, after number: UInt64 = 0) -> [ReceivedRequest] {
        log.requests(of: provider, after: number)
    }

    /// The arrivals of requests that contain the noted word, with the text that follows it; only without checks.
    package var noted: [(mark: String, at: Instant)] { arrivals?.all ?? [] }

    /// The counts of all received requests.
    package var summary: ReceivedSummary { log.summary }

    /// Counts how often the kept requests name each device or each tag.
    package func count(_ provider: ProviderName? = nil, by key: ReceivedCount.Key) -> ReceivedCount {
        ReceivedCount(log.requests(of: provider), by: key)
    }

    package func forgetReceived() { log.removeAll() }

    /// Replaces the faults; the first one that matches a request and is not exhausted is applied.
    package func setFaults(_ list: [SandboxFault]) { faults.replace(with: list) }

    /// Open connections of the providers' side.
    package var openConnections: Int { servers.reduce(0) { $0 + $1.openConnections } }

    /// Accepts no new requests, gives active ones at most `grace` to end, and then closes everything.
    package func stop(grace: Duration = .seconds(5)) async {
        await withTaskGroup(of: Void.self) { group in
            for server in servers { group.addTask { await server.stop(grace: grace) } }
            group.addTask { await self.mail.stop(grace: grace) }
            group.addTask { await self.control.stop(grace: grace) }
        }
        if isCAFileTemporary { unlink(caFile) }
    }

    /// Subscribes a browser and returns its `PushSubscription` as JSON; its private key stays in this process.
    ///
    /// With an `applicationServerKey` (base64url), only messages signed with this key are accepted.
    package func makeWebPushSubscription(
        applicationServerKey: String? = nil
    ) throws(SandboxError) -> JSONObject {
        browsers.json(of: try browsers.make(applicationServerKey: applicationServerKey))
    }

    /// Ends a subscription, as a browser does at `unsubscribe()`; returns false if there is none at this endpoint.
    @discardableResult
    package func endWebPushSubscription(endpoint: String) -> Bool {
        guard endpoint.hasPrefix(browsers.base) else { return false }
        return browsers.end(String(endpoint.dropFirst(browsers.base.count)))
    }

    /// The services and their addresses, for the log.
    fileprivate var services: [(name: String, address: String)] {
        let shared = [("expo", expoEndpoint), ("webpush", webPushEndpoint)]
        return [("fcm", fcmEndpoint), ("oauth", tokenURI)] + (checking == .strict ? shared : []) + [
            ("apns", apnsEndpoint), ("apns-sandbox", apnsSandboxEndpoint),
            ("email", "smtp://\(smtpAddress)"), ("email", "smtps://\(smtpsAddress)"),
            ("control", "http://\(controlAddress)"),
        ]
    }
}

/// A running sandbox as a service of the process; it stops with the group.
package struct SandboxService: Service {
    package let name = "sandbox"
    private let sandbox: ProviderSandbox
    private let logger: Logger

    package init(_ sandbox: ProviderSandbox, logger: Logger) {
        self.sandbox = sandbox
        self.logger = logger
    }

    package func run(until drain: DrainSignal) async throws {
        for (service, address) in sandbox.services {
            logger.notice("listening", ["service": .text(service), "address": .text(address)])
        }
        await drain.wait()
        await sandbox.stop()
    }
}

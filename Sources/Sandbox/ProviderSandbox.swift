import Foundation
import HTTPServer
package import ServiceRuntime

/// Stand-ins for the push providers on ports of this machine, with TLS and HTTP/2 as the real ones have them.
///
/// Runs from `start` until `stop`, also when nobody holds it any more.
package final class ProviderSandbox: Sendable {
    /// Where the providers' side listens, with the real port.
    package let address: ListenAddress
    /// Where the control interface listens, with the real port.
    package let controlAddress: ListenAddress
    /// Stands for `https://fcm.googleapis.com`, without a slash at the end.
    package let fcmEndpoint: String
    /// Stands for `https://oauth2.googleapis.com/token`.
    package let tokenURI: String
    /// Where mails are handed in, with STARTTLS.
    package let smtpAddress: ListenAddress
    /// Where mails are handed in, with TLS from the start.
    package let smtpsAddress: ListenAddress
    /// The file of the authority that clients must trust.
    package let caFile: String
    /// What a sender to FCM is configured with.
    package let serviceAccountJSON: [UInt8]
    private let server: HTTP2Server
    private let mail: MailServer
    private let control: HTTPServer
    private let log: ReceivedLog
    private let faults: FaultList
    private let isCAFileTemporary: Bool

    /// Makes an authority and an account, listens, and writes the files last: who finds them finds the sandbox ready.
    ///
    /// Throws a `SandboxError`; nothing is left behind then.
    package static func start(_ options: SandboxOptions = SandboxOptions()) async throws -> ProviderSandbox {
        let socket = try ListeningSocket.open(options.listen)
        let blueprint = try SandboxBlueprint(options, port: socket.address.port)
        let control = try startControl(options, blueprint)
        do {
            let tls = try blueprint.identity.serverContext()
            let mail = try startMail(options, blueprint)
            do {
                let server = try HTTP2Server.start(socket, tls, options.limits, blueprint.handler)
                do {
                    return try ProviderSandbox(options, blueprint, (server, mail, control))
                } catch {
                    await server.stop(grace: .zero)
                    throw error
                }
            } catch {
                await mail.stop(grace: .zero)
                throw error
            }
        } catch {
            await control.stop(grace: .zero)
            throw error
        }
    }

    private init(
        _ options: SandboxOptions,
        _ blueprint: SandboxBlueprint,
        _ running: (providers: HTTP2Server, mail: MailServer, control: HTTPServer)
    ) throws(SandboxError) {
        server = running.providers
        mail = running.mail
        control = running.control
        (smtpAddress, smtpsAddress) = (mail.address, mail.secureAddress)
        address = server.address
        controlAddress = control.address
        fcmEndpoint = blueprint.origin
        tokenURI = blueprint.tokenURI
        serviceAccountJSON = blueprint.serviceAccountJSON
        isCAFileTemporary = options.caFile == nil
        caFile =
            options.caFile
            ?? NSTemporaryDirectory() + "bellhop-sandbox-\(getpid())-\(server.address.port).pem"
        log = blueprint.log
        faults = blueprint.faults
        if let file = options.serviceAccountFile {
            try OutputFile.write(serviceAccountJSON, to: file, mode: 0o600)
        }
        try OutputFile.write(Array(blueprint.authorityPEM.utf8), to: caFile, mode: 0o644)
    }

    private static func startMail(
        _ options: SandboxOptions,
        _ blueprint: SandboxBlueprint
    ) throws(SandboxError) -> MailServer {
        let office = MailOffice(
            credentials: options.mailCredentials,
            tls: try blueprint.identity.serverContext(.anything),
            faults: blueprint.faults,
            log: blueprint.log,
            time: options.time
        )
        return try MailServer.start(try .open(options.smtp), try .open(options.smtps), office)
    }

    private static func startControl(_ options: SandboxOptions, _ blueprint: SandboxBlueprint) throws -> HTTPServer {
        let api = ControlAPI(
            log: blueprint.log,
            faults: blueprint.faults,
            unchecked: blueprint.handler as? UncheckedHandler
        )
        do {
            return try HTTPServer.start(listen: options.control, handler: api.router.respond(to:))
        } catch let error as HTTPServerError {
            let code: SandboxError.Code =
                switch error.code {
                case .addressTaken: .addressTaken
                case .addressUnusable: .addressUnusable
                case .resources: .resources
                }
            throw SandboxError(code, attempted: "listening on \(error.address)", cameBack: error.cameBack)
        }
    }

    /// What has arrived and is kept, oldest first: of one provider or (nil) of all, and only what came after the request
    /// of this number.
    package func received(_ provider: ProviderName? = nil, after number: UInt64 = 0) -> [ReceivedRequest] {
        log.requests(of: provider, after: number)
    }

    /// The counts of everything that has arrived.
    package var summary: ReceivedSummary { log.summary }

    /// How often each device or tag was named by the requests that are kept.
    package func count(_ provider: ProviderName? = nil, by key: ReceivedCount.Key) -> ReceivedCount {
        ReceivedCount(log.requests(of: provider), by: key)
    }

    package func forgetReceived() {
        log.removeAll()
    }

    /// Replaces the faults; the first one that matches a request and is not over befalls it.
    package func setFaults(_ list: [SandboxFault]) {
        faults.replace(with: list)
    }

    /// Open connections of the providers' side.
    package var openConnections: Int { server.openConnections }

    /// Takes no new requests, gives those under way at most `grace`, and closes everything.
    package func stop(grace: Duration = .seconds(5)) async {
        async let providersDone: Void = server.stop(grace: grace)
        async let mailDone: Void = mail.stop(grace: grace)
        await control.stop(grace: grace)
        await providersDone
        await mailDone
        if isCAFileTemporary { unlink(caFile) }
    }
}

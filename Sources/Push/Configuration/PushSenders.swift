package import BellhopRules
package import HTTPTransfer
package import ServiceRuntime

/// The senders that a configuration asks for, with the transports under them.
///
/// Each app has a transport of its own, so that its pushes never wait behind another app's. Apps share one token source
/// for each service account. Access tokens travel on transports of their own, so that they never wait behind pushes.
package struct PushSenders: Sendable {
    package typealias MakeTransport = (TransportNeed) throws(TransferError) -> any HTTPTransport

    package let senders: [AppID: [PushProvider: any PushSender]]

    private let transports: [any HTTPTransport]

    /// Opens the transports, the real ones unless a test says otherwise; nothing is connected yet.
    package init(
        _ configuration: ProviderConfiguration,
        surroundings: Surroundings,
        makeTransport: @escaping MakeTransport = { (need) throws(TransferError) in try need.open() }
    ) throws(TransferError) {
        var assembly = SenderAssembly(surroundings: surroundings, makeTransport: makeTransport)
        var senders: [AppID: [PushProvider: any PushSender]] = [:]
        for (app, providers) in configuration.apps.sorted(by: { $0.key < $1.key }) {
            guard let fcm = providers.fcm else { continue }
            senders[app, default: [:]][.fcm] = try assembly.sender(fcm, for: app)
        }
        self.senders = senders
        transports = Array(assembly.transports.values)
    }

    /// Ends all transports, each within its own bounded time.
    package func close() async {
        await withTaskGroup(of: Void.self) { group in
            for transport in transports { group.addTask { await transport.close() } }
        }
    }

    /// What senders need of the process.
    package struct Surroundings: Sendable {
        package var time: any TimeSource
        package var logger: Logger
        package var metrics: PushMetrics?

        package init(time: any TimeSource = SystemTime(), logger: Logger, metrics: PushMetrics? = nil) {
            self.time = time
            self.logger = logger
            self.metrics = metrics
        }
    }
}

/// Makes senders one after the other, and what they share once.
private struct SenderAssembly {
    /// What has to be equal for two senders to share a token.
    struct TokenKey: Hashable {
        let email: String
        let keyID: String
        let endpoint: String
        let authoritiesFile: String?
    }

    let surroundings: PushSenders.Surroundings
    let makeTransport: PushSenders.MakeTransport
    private(set) var transports: [TransportNeed: any HTTPTransport] = [:]
    private var sources: [TokenKey: AccessTokenSource] = [:]

    init(surroundings: PushSenders.Surroundings, makeTransport: @escaping PushSenders.MakeTransport) {
        self.surroundings = surroundings
        self.makeTransport = makeTransport
    }

    mutating func sender(_ fcm: ProviderConfiguration.FCM, for app: AppID) throws(TransferError) -> FCMSender {
        let need = TransportNeed(
            kind: .pushes(app),
            endpoint: fcm.endpoint,
            authoritiesFile: fcm.authoritiesFile,
            connections: fcm.connections,
            window: fcm.window,
            name: "fcm"
        )
        var sender = FCMSender(
            endpoint: fcm.endpoint,
            projectID: fcm.serviceAccount.projectID,
            tokens: try tokens(fcm),
            transport: try transport(need),
            time: surroundings.time,
            metrics: surroundings.metrics?.forSender(.fcm, app: app)
        )
        sender.window = fcm.window
        return sender
    }

    private mutating func tokens(_ fcm: ProviderConfiguration.FCM) throws(TransferError) -> AccessTokenSource {
        let account = fcm.serviceAccount
        let key = TokenKey(
            email: account.email,
            keyID: account.keyID,
            endpoint: fcm.tokenURI,
            authoritiesFile: fcm.authoritiesFile
        )
        if let source = sources[key] { return source }
        let need = TransportNeed(
            kind: .errands,
            endpoint: "tokens",
            authoritiesFile: fcm.authoritiesFile,
            connections: 1,
            window: 8,
            name: "tokens"
        )
        let source = AccessTokenSource(
            exchange: TokenExchange(account: account, endpoint: fcm.tokenURI),
            transport: try transport(need),
            time: surroundings.time,
            logger: surroundings.logger
        )
        sources[key] = source
        return source
    }

    private mutating func transport(_ need: TransportNeed) throws(TransferError) -> any HTTPTransport {
        if let transport = transports[need] { return transport }
        let transport = try makeTransport(need)
        transports[need] = transport
        return transport
    }
}

package import BellhopRules
import Cryptography
package import HTTPTransfer
package import ServiceRuntime

/// The senders of a configuration, with their transports.
///
/// Each app has its own transport, so that its pushes never wait behind those of another app. At APNs, each team's key
/// has one. Apps share one token source for each service account and for each APNs key. Access tokens have separate
/// transports, so that they never wait behind pushes.
package struct PushSenders: Sendable {
    package typealias MakeTransport = (TransportNeed) throws(TransferError) -> any HTTPTransport

    package typealias MakeMailTransport = (SMTPTransportOptions) throws(TransferError) -> any MailTransport

    package let senders: [AppID: [PushProvider: any PushSender]]

    /// The mail senders of the apps with mails; each has its own connections.
    package let emailSenders: [AppID: EmailSender]

    /// The sources of receipts, for apps whose provider has them.
    package let receipts: [AppID: any ReceiptSource]

    private let transports: [any HTTPTransport]
    private let mailTransports: [any MailTransport]

    /// Opens the transports, by default the real ones, which tests can replace.
    ///
    /// No connection is established yet.
    package init(
        _ configuration: ProviderConfiguration,
        context: Context,
        makeTransport: @escaping MakeTransport = { (need) throws(TransferError) in try need.open() },
        makeMailTransport: @escaping MakeMailTransport = { (options) throws(TransferError) in
            try SMTPTransport(options)
        }
    ) throws(TransferError) {
        var assembly = SenderAssembly(
            context: context,
            makeTransport: makeTransport,
            makeMailTransport: makeMailTransport
        )
        var senders: [AppID: [PushProvider: any PushSender]] = [:]
        var emailSenders: [AppID: EmailSender] = [:]
        var receipts: [AppID: any ReceiptSource] = [:]
        for (app, providers) in configuration.apps.sorted(by: { $0.key < $1.key }) {
            var own: [PushProvider: any PushSender] = [:]
            if let fcm = providers.fcm { own[.fcm] = try assembly.sender(fcm, for: app) }
            if let apns = providers.apns { own[.apns] = try assembly.sender(apns, for: app) }
            if let webPush = providers.webPush { own[.webpush] = try assembly.sender(webPush, for: app) }
            if let expo = providers.expo { (own[.expo], receipts[app]) = try assembly.expo(expo, for: app) }
            if !own.isEmpty { senders[app] = own }
            if let email = providers.email { emailSenders[app] = try assembly.sender(email, for: app) }
        }
        self.senders = senders
        self.emailSenders = emailSenders
        self.receipts = receipts
        transports = Array(assembly.transports.values)
        mailTransports = assembly.mailTransports
    }

    /// Closes all transports, each within its own time limit.
    package func close() async {
        await withTaskGroup(of: Void.self) { group in
            for transport in transports { group.addTask { await transport.close() } }
            for transport in mailTransports { group.addTask { await transport.close() } }
        }
    }

    /// The parts of the process that senders need.
    package struct Context: Sendable {
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

/// Creates senders in turn, and shared parts only once.
struct SenderAssembly {
    /// The values that must be equal for two senders to share a token.
    struct AccountKey: Hashable {
        /// The account's fingerprint.
        let account: Digest
        let endpoint: String
        let authoritiesFile: String?
    }

    let context: PushSenders.Context
    let makeTransport: PushSenders.MakeTransport
    let makeMailTransport: PushSenders.MakeMailTransport
    private(set) var transports: [TransportNeed: any HTTPTransport] = [:]
    var mailTransports: [any MailTransport] = []
    var sources: [AccountKey: AccessTokenSource] = [:]
    /// The provider tokens by the fingerprint of their key.
    var providerTokens: [Digest: ProviderTokens] = [:]

    init(
        context: PushSenders.Context,
        makeTransport: @escaping PushSenders.MakeTransport,
        makeMailTransport: @escaping PushSenders.MakeMailTransport
    ) {
        self.context = context
        self.makeTransport = makeTransport
        self.makeMailTransport = makeMailTransport
    }

    /// Returns the one transport for this need.
    mutating func transport(_ need: TransportNeed) throws(TransferError) -> any HTTPTransport {
        if let transport = transports[need] { return transport }
        let transport = try makeTransport(need)
        transports[need] = transport
        return transport
    }
}

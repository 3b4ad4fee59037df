import BellhopRules
import Cryptography
import HTTPTransfer
import ServiceRuntime

/// Creates senders in turn, and shared parts only once.
struct SenderAssembly {
    /// The values that must be equal for two senders to share a token.
    struct TokenKey: Hashable {
        /// The account's fingerprint.
        let account: Digest
        let endpoint: String
        let authoritiesFile: String?
    }

    let surroundings: PushSenders.Surroundings
    let makeTransport: PushSenders.MakeTransport
    let makeMailTransport: PushSenders.MakeMailTransport
    private(set) var transports: [TransportNeed: any HTTPTransport] = [:]
    var mailTransports: [any MailTransport] = []
    var sources: [TokenKey: AccessTokenSource] = [:]
    /// The provider tokens by the fingerprint of their key.
    var providerTokens: [Digest: ProviderTokens] = [:]

    init(
        surroundings: PushSenders.Surroundings,
        makeTransport: @escaping PushSenders.MakeTransport,
        makeMailTransport: @escaping PushSenders.MakeMailTransport
    ) {
        self.surroundings = surroundings
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

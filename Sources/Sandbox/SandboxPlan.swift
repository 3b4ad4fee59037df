import ServiceRuntime

/// All parts of a sandbox before any of them runs.
struct SandboxPlan: Sendable {
    /// `https://host:port`, as used by clients.
    let origin: String
    let identity: TLSIdentity
    let authorityPEM: String
    let serviceAccountJSON: [UInt8]
    let log: ReceivedLog
    let faults: FaultList
    let browsers: BrowserSubscriptions
    let handler: any HTTP2Handler
    let apnsAccount: APNsAccount
    /// The handlers of APNs, whose environments are separate hosts.
    let apnsHandlers: (production: any HTTP2Handler, development: any HTTP2Handler)

    var tokenURI: String { origin + TokenEndpoint.path }

    /// Creates an authority, an identity and an account for a sandbox that clients reach at `port`.
    init(_ options: SandboxOptions, port: UInt16) throws(SandboxError) {
        let origin = "https://\(ListenAddress(host: options.announcedHost, port: port))"
        let now = options.time.now()
        let authority = try CertificateAuthority(now: now)
        let order = CertificateRequest(for: options, now: now)
        let serviceAccount = try SandboxServiceAccount(projectID: options.project)
        self.origin = origin
        identity = try authority.issue(order)
        authorityPEM = try authority.certificate.pem()
        serviceAccountJSON = try serviceAccount.json(tokenURI: origin + TokenEndpoint.path)
        log = ReceivedLog(ReceivedLog.Bounds(requests: options.keptRequests))
        faults = FaultList(seed: options.seed)
        apnsAccount = try APNsAccount(topics: options.apnsTopics)
        let browserOrigin = "https://\(ListenAddress(host: options.namedHost, port: port))"
        browsers = BrowserSubscriptions(origin: browserOrigin)
        let (faults, log, time, account) = (faults, log, options.time, apnsAccount)
        func core(_ providers: [any ProviderStandIn]) -> SandboxCore {
            SandboxCore(providers: providers, faults: faults, log: log, time: time)
        }
        apnsHandlers = (
            core([APNsStandIn(.production, account: account, time: time)]),
            core([APNsStandIn(.development, account: account, time: time)])
        )
        switch options.checking {
        case .none:
            let noted = options.notedWord.map { ArrivalLog(word: $0, time: options.time) }
            handler = UncheckedHandler(noting: noted, issuingTokens: options.issuesTokensUnchecked)
        case .strict:
            let tokens = AccessTokens(lifetime: options.tokenLifetime)
            let endpoint = TokenEndpoint(
                accounts: [serviceAccount],
                tokens: tokens,
                audiences: [origin + TokenEndpoint.path, "https://oauth2.googleapis.com/token"]
            )
            handler = core([
                FCMStandIn(tokens: tokens), endpoint,
                ExpoStandIn(
                    accessToken: options.expoAccessToken,
                    receiptDelay: options.expoReceiptDelay,
                    faults: faults
                ),
                WebPushStandIn(subscriptions: browsers, origin: browserOrigin),
            ])
        }
    }
}

extension CertificateRequest {
    /// Orders the certificate of a sandbox: one that its clients expect, or one that they must reject.
    init(for options: SandboxOptions, now: Instant) {
        let name = Name(options.announcedHost)
        let usual = Self.usualNames
        names = usual.contains(name) ? usual : usual + [name]
        validity = now - .seconds(86_400)..<now + .seconds(365 * 86_400)
        switch options.certificateFault {
        case nil: break
        case .ofAnotherHost: names = [.host("another-host.example")]
        case .expired: validity = now - .seconds(10 * 86_400)..<now - .seconds(86_400)
        }
    }
}

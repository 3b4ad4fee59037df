import ServiceRuntime

/// Everything a sandbox consists of before anything of it runs.
struct SandboxBlueprint: Sendable {
    /// `https://host:port`, as clients reach it.
    let origin: String
    let identity: TLSIdentity
    let authorityPEM: String
    let serviceAccountJSON: [UInt8]
    let log: ReceivedLog
    let faults: FaultList
    let browsers: BrowserSubscriptions
    let handler: any HTTP2Handler
    let apnsAccount: APNsAccount
    /// Each environment of APNs is a host of its own.
    let apnsHandlers: (production: any HTTP2Handler, development: any HTTP2Handler)

    var tokenURI: String { origin + TokenEndpoint.path }

    /// Makes an authority, an identity and an account for a sandbox that will be reached at `port`.
    init(_ options: SandboxOptions, port: UInt16) throws(SandboxError) {
        let origin = "https://\(ListenAddress(host: options.announcedHost, port: port))"
        let now = options.time.now()
        let authority = try CertificateAuthority(now: now)
        let order = CertificateOrder(for: options, now: now)
        let serviceAccount = try ServiceAccount(projectID: options.project)
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
        case .none: handler = UncheckedHandler(noting: options.notedWord.map { NotedArrivals(word: $0, time: options.time) })
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

extension CertificateOrder {
    /// The certificate of a sandbox: what its clients expect, or what they must refuse.
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

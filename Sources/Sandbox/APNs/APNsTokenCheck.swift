import ServiceRuntime
import Synchronization

/// Checks provider tokens: their issuer, their age and how often a connection changes them.
final class APNsTokenCheck: Sendable {
    /// The token that a connection uses, and the time of its first use.
    private struct Held {
        let token: Substring
        let since: Instant
    }

    /// The maximum age; an older token is rejected.
    private static let longestAge = Duration.seconds(3_600)
    /// The minimum time before a connection may change its token.
    private static let shortestUse = Duration.seconds(20 * 60)
    private static let clockSkew = Duration.seconds(60)
    /// The number of connections that are remembered.
    ///
    /// The next token on an older connection counts as its first.
    private static let remembered: UInt64 = 1_024

    private let account: APNsAccount
    private let held = Mutex<[UInt64: Held]>([:])

    init(_ account: APNsAccount) { self.account = account }

    /// Returns `nil` if the request may push for the account.
    func refusal(_ request: HTTP2Request, now: Instant) -> APNsRefusal? {
        guard let value = request.headers["authorization"] else {
            return APNsRefusal(403, "MissingProviderToken", "there is no authorization")
        }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer", let token = Assertion(String(parts[1])) else {
            return Self.invalid("the authorization is not \"bearer\" and a JSON Web Token")
        }
        if let refusal = refusal(of: token, now: now) { return refusal }
        return change(to: parts[1], on: request.connection, now: now)
    }

    private func refusal(of token: Assertion, now: Instant) -> APNsRefusal? {
        guard token.header["alg"]?.string == "ES256" else { return Self.invalid("alg must be ES256") }
        guard token.header["kid"]?.string == account.keyID else { return Self.invalid("kid names an unknown key") }
        guard token.claims["iss"]?.string == account.teamID else { return Self.invalid("iss is not the key's team") }
        guard account.key.isES256(token.signature, of: token.signed) else {
            return Self.invalid("the signature is not the key's")
        }
        guard let seconds = token.claims["iat"]?.number?.int64 else {
            return Self.invalid("iat must be a whole number of seconds")
        }
        let age = now - Instant(seconds: seconds)
        guard age >= .zero - Self.clockSkew else { return Self.invalid("iat is in the future") }
        guard age <= Self.longestAge else {
            return APNsRefusal(403, "ExpiredProviderToken", "iat is more than an hour ago")
        }
        return nil
    }

    private func change(to token: Substring, on connection: UInt64, now: Instant) -> APNsRefusal? {
        held.withLock { held in
            if let current = held[connection] {
                guard current.token != token else { return nil }
                guard now - current.since >= Self.shortestUse else {
                    let why = "the connection changed its token within 20 minutes"
                    return APNsRefusal(429, "TooManyProviderTokenUpdates", why)
                }
            }
            held[connection] = Held(token: token, since: now)
            if connection > Self.remembered { held[connection - Self.remembered] = nil }
            return nil
        }
    }

    private static func invalid(_ why: String) -> APNsRefusal {
        APNsRefusal(403, "InvalidProviderToken", why)
    }
}

/// A team's APNs key in the form that Apple issues.
///
/// It exists only in this process.
struct APNsAccount: Sendable {
    /// Ten characters, like Apple's team ids.
    let teamID = "BELLHOPDEV"
    let keyID = "SANDBOXKEY"
    let key: GeneratedKey
    /// The bundle ids that the team may push to.
    let topics: Set<String>

    init(topics: Set<String>) throws(SandboxError) {
        key = try GeneratedKey.generateP256()
        self.topics = topics
    }

    /// Returns the `.p8` file for a sender.
    ///
    /// Its key signs provider tokens.
    func p8() throws(SandboxError) -> [UInt8] { Array(try key.pkcs8().utf8) }
}

/// One of APNs' two services.
///
/// A device token is valid at only one of them.
enum APNsEnvironment: Sendable {
    case production
    case development
}

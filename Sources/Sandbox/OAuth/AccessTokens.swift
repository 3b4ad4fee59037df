import Cryptography
import ServiceRuntime
import Synchronization

/// The access tokens that were handed out, and what each is good for.
final class AccessTokens: Sendable {
    /// What a token allows.
    struct Grant: Sendable {
        let projectID: String
        let expires: Instant
    }

    /// What a token turns out to be.
    enum Standing: Equatable {
        case good(projectID: String)
        case expired
        case unknown
    }

    let lifetime: Duration
    private let grants = Mutex<[String: Grant]>([:])

    /// - Parameter lifetime: how long a token is good.
    init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    /// A new token; those that ended more than a day ago are forgotten.
    func issue(for projectID: String, now: Instant) throws(CryptographyError) -> String {
        let token = "ya29.sandbox-" + Base64URL.encode(try SecureRandom.bytes(32))
        grants.withLock { grants in
            if grants.count >= 1_000 { grants = grants.filter { $0.value.expires + .seconds(86_400) > now } }
            grants[token] = Grant(projectID: projectID, expires: now + lifetime)
        }
        return token
    }

    func standing(of token: String, now: Instant) -> Standing {
        guard let grant = grants.withLock({ $0[token] }) else { return .unknown }
        return grant.expires > now ? .good(projectID: grant.projectID) : .expired
    }
}

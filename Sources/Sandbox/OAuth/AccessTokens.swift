import Cryptography
import ServiceRuntime
import Synchronization

/// The issued access tokens and their grants.
final class AccessTokens: Sendable {
    /// The permission of a token.
    struct Grant: Sendable {
        let projectID: String
        let expires: Instant
    }

    /// The validity of a token.
    enum TokenStatus: Equatable {
        case good(projectID: String)
        case expired
        case unknown
    }

    let lifetime: Duration
    private let grants = Mutex<[String: Grant]>([:])

    /// - Parameter lifetime: the time for which a token is valid.
    init(lifetime: Duration) { self.lifetime = lifetime }

    /// Issues a new token.
    ///
    /// If 1,000 tokens or more are stored, tokens that expired more than a day ago are removed.
    func issue(for projectID: String, now: Instant) throws(CryptographyError) -> String {
        let token = "ya29.sandbox-" + Base64URL.encode(try SecureRandom.bytes(32))
        grants.withLock { grants in
            if grants.count >= 1_000 { grants = grants.filter { $0.value.expires + .seconds(86_400) > now } }
            grants[token] = Grant(projectID: projectID, expires: now + lifetime)
        }
        return token
    }

    func standing(of token: String, now: Instant) -> TokenStatus {
        guard let grant = grants.withLock({ $0[token] }) else { return .unknown }
        return grant.expires > now ? .good(projectID: grant.projectID) : .expired
    }
}

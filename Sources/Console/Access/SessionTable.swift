import Cryptography
import ServiceRuntime
import Synchronization

/// Somebody who has signed in, as one browser knows it.
struct Session: Sendable {
    let person: Operator
    /// What a page must say beside the cookie, so that no other page can act with it.
    let proof: String
    let begunAt: ContinuousClock.Instant
    fileprivate(set) var usedAt: ContinuousClock.Instant
}

/// The sessions of this process, in its memory alone: a restart signs everybody out.
///
/// Bounded in number and time; what is kept of a cookie is its hash.
final class SessionTable: Sendable {
    /// How long and how many.
    struct Limits: Sendable {
        var idle = Duration.seconds(2 * 3_600)
        var whole = Duration.seconds(12 * 3_600)
        var each = 10
        var all = 1_000
    }

    private let limits: Limits
    private let time: any TimeSource
    private let sessions = Mutex<[Digest: Session]>([:])

    init(_ limits: Limits = Limits(), time: any TimeSource) {
        self.limits = limits
        self.time = time
    }

    var count: Int { sessions.withLock { $0.count } }

    /// Begins one; of too many of the same person the one that was not used for longest ends.
    ///
    /// Nil where there are too many in all.
    func begin(_ person: Operator) throws(CryptographyError) -> (cookie: String, session: Session)? {
        let now = time.steady()
        let cookie = Base64URL.encode(try SecureRandom.bytes(32))
        let proof = Base64URL.encode(try SecureRandom.bytes(24))
        let session = Session(person: person, proof: proof, begunAt: now, usedAt: now)
        let hasRoom = sessions.withLock { sessions in
            sessions = sessions.filter { !hasEnded($0.value, now) }
            let own = sessions.filter { $0.value.person.name == person.name }
            if own.count >= limits.each, let oldest = own.min(by: { $0.value.usedAt < $1.value.usedAt }) {
                sessions[oldest.key] = nil
            }
            guard sessions.count < limits.all else { return false }
            sessions[Self.key(cookie)] = session
            return true
        }
        return hasRoom ? (cookie, session) : nil
    }

    /// The session of a cookie, as long as its person may still sign in, in the same role and with the same token.
    func find(_ cookie: String, among list: OperatorList) -> Session? {
        let (now, key) = (time.steady(), Self.key(cookie))
        return sessions.withLock { sessions in
            guard var session = sessions[key] else { return nil }
            guard !hasEnded(session, now), list.operators.contains(session.person) else {
                sessions[key] = nil
                return nil
            }
            session.usedAt = now
            sessions[key] = session
            return session
        }
    }

    func end(_ cookie: String) {
        sessions.withLock { $0[Self.key(cookie)] = nil }
    }

    private func hasEnded(_ session: Session, _ now: ContinuousClock.Instant) -> Bool {
        now - session.usedAt > limits.idle || now - session.begunAt > limits.whole
    }

    private static func key(_ cookie: String) -> Digest { SHA256.digest(of: Array(cookie.utf8)) }
}

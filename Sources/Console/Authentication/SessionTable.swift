import Cryptography
import ServiceRuntime
import Synchronization

/// An operator's signed-in browser.
struct Session: Sendable {
    let person: Operator
    /// The proof that a page must send in addition to the cookie, so that no other page can act with the session.
    let proof: String
    let begunAt: ContinuousClock.Instant
    fileprivate(set) var usedAt: ContinuousClock.Instant
}

/// The sessions of this process.
///
/// They exist only in memory, so a restart signs out all operators.
///
/// Their number and duration are limited. Only the hash of a cookie is stored.
final class SessionTable: Sendable {
    /// The limits of duration and number.
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

    /// Begins a session.
    ///
    /// If the operator has too many, the least recently used one ends. Returns `nil` if there are too many sessions in
    /// total.
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

    /// Returns the session of a cookie, if its operator may still sign in, with the same role and token.
    func find(_ cookie: String, among list: OperatorFile) -> Session? {
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

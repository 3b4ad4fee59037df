import Sandbox
import Testing

/// What goes wrong while pushes flow, and what may come of it.
struct PushFault: Sendable, CustomTestStringConvertible {
    enum Kind: Sendable {
        /// A worker of two is killed again and again.
        case kills(Int)
        /// The provider answers so.
        case provider([SandboxFault])
        /// Every event is published twice.
        case duplicates
    }

    /// How often something may be pushed twice.
    enum Repeats: Sendable {
        case never
        /// After each outcome that nobody learnt; the meters of the workers say the same as the ledger.
        case counted
        /// The same, but workers took their meters with them: they say no more than the ledger.
        case countedByTheLedger
    }

    let name: String
    let kind: Kind
    let repeats: Repeats
    /// How many events.
    let size: Int
    /// The lease: production's if workers are killed, whose claims the test ends; otherwise longer than any run, so that a
    /// repeat can only be a mistake.
    var lease = longLease

    static let usualLease = "60s"
    static let longLease = "600s"

    var testDescription: String { name }

    static var all: [PushFault] {
        let kills = Proof.isFull ? 20 : 4
        let size = Proof.isFull ? 50_000 : 1_500
        let unavailable = SandboxFault(.fcm, .answer(.init(status: 503)))
        let cut = SandboxFault(.fcm, .drop)
        return [
            PushFault(
                name: "kill -9 of one worker of two, \(kills) times",
                kind: .kills(kills),
                repeats: .countedByTheLedger,
                size: Proof.isFull ? 50_000 : 4_000,
                lease: usualLease
            ),
            PushFault(
                name: "503 for a third",
                // In the small size so many that the last of them is had in the first round: each round is ten seconds.
                kind: .provider([unavailable.limited(toRate: 1.0 / 3, count: Proof.isFull ? nil : size / 3)]),
                repeats: .never,
                size: size
            ),
            PushFault(
                name: "connections cut behind the request",
                kind: .provider([cut.limited(toRate: 0.05, count: size / 50)]),
                repeats: .counted,
                size: size
            ),
            PushFault(name: "a duplicate of every event", kind: .duplicates, repeats: .never, size: size),
        ]
    }
}

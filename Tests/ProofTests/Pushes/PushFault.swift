import Sandbox
import Testing

/// A fault during pushes, and its permitted effects.
struct PushFault: Sendable, CustomTestStringConvertible {
    enum Kind: Sendable {
        /// One worker of two is killed repeatedly.
        case kills(Int)
        /// The provider answers with these faults.
        case provider([SandboxFault])
        /// Every event is published twice.
        case duplicates
    }

    /// The permitted number of repeated pushes.
    enum Repeats: Sendable {
        case never
        /// One repeat after each unknown outcome; the workers' metrics agree with the ledger.
        case counted
        /// The same, but the metrics of killed workers are lost: the counts are at most those of the ledger.
        case countedByTheLedger
    }

    let name: String
    let kind: Kind
    let repeats: Repeats
    /// The number of events.
    let size: Int
    /// The lease.
    ///
    /// It is production's if workers are killed, since the test ends their claims. Otherwise it is longer than any run,
    /// so that every repeat is an error.
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
                // At the small size, few enough that the first round has all of them: each round takes ten seconds.
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

import BellhopRules
import Console
import Glibc
import Postgres
import ServiceRuntime
import Synchronization

/// The desk of the console: the program's own commands, run inside the process as at a terminal.
///
/// So a page shows what the command line prints, an act asks what it asks there, and neither can do what the other
/// cannot.
struct CommandDesk: Sendable {
    let environment: [String: String]
    /// With the pool that all of them share.
    let ground: (configuration: BellhopConfiguration, pool: PostgresPool)
    /// Runs a command, as the program does.
    let run: @Sendable (_ words: [String], _ shell: Shell) async -> ExitCode

    func answer(_ question: DeskQuestion) async -> DeskAnswer {
        let (printed, complained) = (KeptWords(atMost: 32 << 20), KeptWords(atMost: 1 << 20))
        let refused = Mutex<DeskAnswer.Consent?>(nil)
        var shell = Shell(environment: environment, output: printed.output, complaints: complained.output)
        shell.readInput = { question.input }
        shell.ground = ground
        shell.agreedAsOf = question.agreedAsOf.flatMap(Timestamp.init(validating:))
        shell.consent = { [agreedAsOf = shell.agreedAsOf] count, asOf, deed in
            // Of what somebody has seen some may be gone; nothing has come to it.
            if let agreed = question.agreed, agreedAsOf == nil ? count == agreed : count <= agreed { return true }
            refused.withLock { $0 = DeskAnswer.Consent(count: count, deed: deed, asOf: asOf?.description) }
            return false
        }
        let code = await run(question.words, shell)
        return DeskAnswer(
            code,
            output: printed.text,
            complaint: complained.text,
            consent: refused.withLock { $0 }
        )
    }
}

/// What a command says, kept for whoever asked, up to a bound.
///
/// Beyond it the command hears that its words do not arrive.
private final class KeptWords: Sendable {
    private let bytes = Mutex<[UInt8]>([])
    private let limit: Int

    init(atMost limit: Int) { self.limit = limit }

    var output: PrintedOutput {
        PrintedOutput { [self] piece in
            bytes.withLock { bytes in
                guard bytes.count + piece.count <= limit else { return EFBIG }
                bytes += piece
                return 0
            }
        }
    }

    /// Without the newline at its end.
    var text: String {
        let bytes = bytes.withLock { $0 }
        return String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
    }
}

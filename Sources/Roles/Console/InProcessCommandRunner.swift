import BellhopRules
import CLI
import Console
import Glibc
import Postgres
import ServiceRuntime
import Settings
import Synchronization

/// Runs the program's commands for the console, inside the process, as at a terminal.
///
/// A page therefore shows the same as the command line, an act asks the same questions, and neither can do more than
/// the other.
struct InProcessCommandRunner: Sendable {
    let environment: [String: String]
    let lent: LentConnections
    /// Runs a command as the program does.
    let run: @Sendable (_ words: [String], _ shell: CommandEnvironment) async -> ExitCode

    func answer(_ question: CommandRequest) async -> CommandResult {
        let (printed, complained) = (CapturedOutput(atMost: 32 << 20), CapturedOutput(atMost: 1 << 20))
        let refused = Mutex<CommandResult.Confirmation?>(nil)
        var shell = CommandEnvironment(environment: environment, output: printed.output, complaints: complained.output)
        shell.readInput = { question.input }
        shell.lent = lent
        shell.agreedAsOf = question.agreedAsOf.flatMap(Timestamp.init(validating:))
        shell.consent = { [agreedAsOf = shell.agreedAsOf] count, asOf, deed in
            // With `agreedAsOf`, new items are excluded, but some of the items that the operator saw may be gone.
            if let agreed = question.agreed, agreedAsOf == nil ? count == agreed : count <= agreed { return true }
            refused.withLock { $0 = CommandResult.Confirmation(count: count, deed: deed, asOf: asOf?.description) }
            return false
        }
        let code = await run(question.words, shell)
        return CommandResult(
            code,
            output: printed.text,
            complaint: complained.text,
            consent: refused.withLock { $0 }
        )
    }
}

/// Collects a command's output up to a limit.
///
/// Beyond the limit the command gets a write error.
private final class CapturedOutput: Sendable {
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

    /// The output without the newline at its end.
    var text: String {
        let bytes = bytes.withLock { $0 }
        return String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
    }
}

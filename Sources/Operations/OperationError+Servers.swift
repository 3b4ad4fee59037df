import AMQP
import ServiceRuntime
import Settings
import Store

extension OperationError {
    /// Converts an error of any kind that an operation met, which is an act or a reading.
    init(_ error: any Error, during name: String, isAct: Bool) {
        switch error {
        case let error as OperationError: self = error
        case let failure as CommandFailure:
            let kind = Kind(failure.exitCode)
            self.init(kind, attempted: failure.attempted, failure.cameBack, advice: failure.whatToDo)
        case let error as CatalogFailure:
            self.init(.misconfigured, attempted: name, "\(error)", advice: "see bellhop check-config")
        case let error as AMQPError:
            self.init(Kind(error.exitCode), attempted: name, "\(error)", advice: "see docs/runbooks/broker.md")
        case let error as StoreError:
            let back = "bring the database back (docs/runbooks/database.md), and look again"
            let advice = error.exitCode == .unavailable ? back : error.advice ?? back
            self.init(Kind(error.exitCode), attempted: name, error.text(isAct: isAct), advice: advice)
        default:
            self.init(.failed, attempted: name, "\(error)", advice: "report it with the log")
        }
    }
}

extension OperationError.Kind {
    fileprivate init(_ code: ExitCode) {
        switch code {
        case .usage, .badInput: self = .refused
        case .answerIsNo: self = .notPossible
        case .tryAgain: self = .tryAgain
        case .unavailable: self = .unavailable
        case .configuration: self = .misconfigured
        case .bug, .done: self = .failed
        }
    }
}

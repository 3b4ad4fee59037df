/// The end of a service group.
package enum GroupExit: Sendable {
    /// The reason why the group drained.
    package enum Cause: Sendable, Equatable, CustomStringConvertible {
        case signal(ProcessSignal)
        /// The task that ran the group was cancelled.
        case request
        /// A service returned or threw.
        case service(String)

        package var description: String {
            switch self {
            case .signal(let signal): signal.name
            case .request: "a request"
            case .service(let name): "the end of \(name)"
            }
        }
    }

    /// All services finished their work.
    case drained(Cause)
    /// These services did not finish in time and were cancelled.
    case timedOut(services: [String])
    /// This service was the first to throw.
    case failed(service: String, any Error)
    /// This service returned although no drain was requested.
    case returnedEarly(service: String)

    var isFailure: Bool {
        if case .failed = self { true } else { false }
    }

    /// Whether no service was left behind with unfinished work.
    package var isComplete: Bool {
        if case .timedOut = self { false } else { true }
    }

    /// The exit code for the process; a `CommandFailure` has a specific code.
    package var exitCode: ExitCode {
        switch self {
        case .drained: .done
        case .timedOut: .tryAgain
        case .failed(_, let error as CommandFailure): error.exitCode
        case .failed, .returnedEarly: .bug
        }
    }
}

extension GroupExit: CustomStringConvertible {
    /// The text for the last line of a log.
    package var description: String {
        switch self {
        case .drained(let cause): "drained, because of \(cause)"
        case .timedOut(let services):
            "\(services.joined(separator: ", ")) did not finish in time; the broker delivers their messages again"
        case .failed(let service, let error): "\(service) failed: \(error)"
        case .returnedEarly(let service): "\(service) ended unexpectedly"
        }
    }
}

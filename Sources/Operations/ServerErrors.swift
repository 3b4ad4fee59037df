package import AMQP
package import ServiceRuntime
import Settings
import Store

extension AMQPError {
    package var exitCode: ExitCode {
        switch code {
        case .unreachable, .tls, .accessRefused, .connectionClosed, .connectionLost, .timedOut: .unavailable
        case .invalidAddress, .preconditionFailed, .notFound: .configuration
        case .invalidArgument, .channelClosed, .protocolViolation: .bug
        }
    }
}

extension StoreError {
    /// The exit code.
    ///
    /// A rejected log-in or missing privilege persists until the configuration is changed.
    package var exitCode: ExitCode {
        if isTransient { return .unavailable }
        switch code {
        case .cannotConnect, .invalidParameter: return .configuration
        case .server where isMissingPrivilege || isSchemaMismatch: return .configuration
        default: return .bug
        }
    }

    /// Returns the text for people.
    ///
    /// Only for an act it states that nothing was executed, also if no connection could be made.
    package func text(isAct: Bool) -> String {
        guard isAct else { return message }
        let text = "\(self)"
        guard code == .cannotConnect, isTransient, outcome == nil else { return text }
        return text + (text.last.map { ".!?".contains($0) } == true ? " " : ". ") + "It did not happen."
    }

    /// The text for people, with the advice if there is one.
    package var textWithAdvice: String { withAdvice("\(self)") }

    /// The same without the outcome, for a reading.
    var readingTextWithAdvice: String { withAdvice(message) }

    private func withAdvice(_ text: String) -> String {
        guard let advice else { return text }
        return "\(text.hasSuffix(".") ? String(text.dropLast()) : text); \(advice)"
    }

    package var advice: String? {
        switch code {
        case .cannotConnect where isMissingPrivilege:
            "grant the role to this log-in: see docs/topology.md, The database"
        case .cannotConnect where isUnknownParameter: "run bellhop migrate first, which makes the roles"
        case .cannotConnect where isAnswered && !isTransient: "check \(Setting.databaseURL.environmentName)"
        case _ where isSchemaMismatch:
            "the schema is not this program's: see bellhop migrate --check, or name the right "
                + Setting.namespace.environmentName
        case .timedOut where !isAnswered: "see docs/runbooks/database.md, When it does not answer"
        case .timedOut: "see docs/runbooks/database.md"
        case .cannotConnect where !isAnswered: "see docs/runbooks/database.md"
        case _ where isMissingPrivilege: "log in with the rights for it: see docs/topology.md, The database"
        default: nil
        }
    }
}

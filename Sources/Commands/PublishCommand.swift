import AMQP
import BellhopRules
import CLI
import Publishing
import ServiceRuntime
import Settings

/// The command `bellhop publish FILE|-`.
enum PublishCommand: Command {
    static let name = "publish"
    static let summary = "Publishes a file of events with confirms; none of them if one is invalid."
    static let synopsis = ["publish FILE|- [--from APP.MAPPING] [--json]"]
    static let options = [Option.mapping, .json]

    static func run(_ call: Call) async throws -> ExitCode {
        let path = try call.words.file()
        let setup = try call.setup(requiring: [.amqpURL, .catalogs])
        let catalogs = try setup.catalogs()
        let mapping = try call.mapping(in: catalogs)
        let file = try EventFile(reading: path, for: "publishing", as: mapping, call, catalogs)
        try refuseInvalid(file, path)
        let options = PublisherOptions(broker: try setup.broker(), name: "bellhop publish")
        try await meet(options, setup.names.events, call.shell)
        let publisher = Publisher(options)
        publisher.start()
        let outcomes = await publisher.publish(file.entries.compactMap { $0.event?.message(to: setup.names.events) })
        await publisher.close()
        let (confirmed, all) = (outcomes.count { $0 == .confirmed }, outcomes.count)
        call.answer(
            .members([("published", .int(confirmed)), ("of", .int(all))]),
            "published \(confirmed) of \(all), confirmed by the broker"
        )
        return try verdict(outcomes)
    }

    /// Checks that the broker accepts the log-in and has the exchange, since a publisher would retry until its timeout.
    ///
    /// If the broker is unavailable, it may return within that time, so the function only reports the wait.
    private static func meet(_ options: PublisherOptions, _ exchange: String, _ shell: CommandEnvironment) async throws
    {
        let isThere: Bool
        do {
            isThere = try await BrokerSession.with(options.broker, name: options.name) { session in
                try session.checkExchange(exchange)
            }
        } catch {
            let away: Set<AMQPError.Code> = [.unreachable, .timedOut, .connectionLost, .connectionClosed]
            guard let error = error as? AMQPError, away.contains(error.code) else { throw error }
            let patience = options.timeout.shortText
            shell.complaints.print(line: "bellhop: waiting \(patience) at most for the broker: \(error)")
            return
        }
        guard !isThere else { return }
        throw CommandFailure(
            .configuration,
            attempted: "publishing",
            cameBack: "the broker has no exchange \(exchange)",
            whatToDo: "run bellhop topology apply, or name the right \(Setting.namespace.environmentName)"
        )
    }

    private static func refuseInvalid(_ file: EventFile, _ path: String) throws(CommandFailure) {
        guard let first = file.rejected.first, let why = first.summary else { return }
        let others = file.rejected.count > 1 ? " (and \(file.rejected.count - 1) more)" : ""
        throw CommandFailure(
            .badInput,
            attempted: "publishing \(path)",
            cameBack: "line \(first.line) would be rejected, \(why)\(others)",
            whatToDo: "nothing was published; bellhop validate \(path) lists every fault"
        )
    }

    private static func verdict(_ outcomes: [PublishOutcome]) throws(CommandFailure) -> ExitCode {
        guard let first = outcomes.first(where: { $0 != .confirmed }) else { return .done }
        let code: ExitCode
        let why: String
        switch first {
        case .notSent(let reason): (code, why) = (.unavailable, reason)
        case .unroutable(let reason):
            (code, why) = (.configuration, "no queue takes it (\(reason)): has bellhop topology apply run?")
        case .refused: (code, why) = (.tryAgain, "the broker refused it, its queue is full")
        case .unwritable(let reason), .tooLarge(let reason): (code, why) = (.badInput, reason)
        case .unknown(let reason): (code, why) = (.tryAgain, "no confirm came (\(reason))")
        case .confirmed: return .done
        }
        throw CommandFailure(
            code,
            attempted: "publishing",
            cameBack: why,
            whatToDo: "publish the file again: what did arrive is recognised by its id"
        )
    }
}

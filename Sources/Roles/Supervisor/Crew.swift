package import BellhopRules
package import CLI
import Foundation
package import ServiceRuntime
package import Settings

/// The processes of this program that one command runs on its machine.
///
/// Each is restarted when it ends or hangs. All of them receive a SIGHUP, and they end together.
package struct Crew {
    private let call: Call
    private let logger: Logger
    private let lifeline: ParentExitMonitor
    private let path = ChildProgram.own()
    private let drainTimeout: Duration
    private let limits: SupervisedProcess.Limits
    private var seats: [SupervisedProcess] = []

    package init(_ call: Call, _ configuration: BellhopConfiguration, logger: Logger) throws(CommandFailure) {
        self.call = call
        drainTimeout = configuration.drainTimeout + Self.margin
        limits = SupervisedProcess.Limits(silence: configuration.hangTimeout, grace: drainTimeout)
        self.logger = logger
        lifeline = try ParentExitMonitor()
    }

    /// Adds workers.
    ///
    /// Each has its metrics port one above the last.
    package mutating func add(workers: Int, for lanes: [Lane], metricsFrom base: ListenAddress) throws(CommandFailure) {
        var settings = call.words.settings
        settings[Setting.metricsListen.flagName] = nil
        let lanes = lanes.map(\.rawValue).joined(separator: ",")
        for number in 0..<workers {
            guard let listen = base.shifted(by: number) else {
                throw call.words.misuse("port \(base.port) has no \(workers) ports from it on")
            }
            let arguments = ["--number", String(number), "--lanes", lanes]
            let place = [Setting.metricsListen.environmentName: "\(listen)"]
            seats.append(seat(WorkerCommand.self, "worker", number: number, arguments, settings, place))
        }
    }

    /// Adds one process of another role, with the flags of this command.
    ///
    /// `kind` is its name in the log.
    package mutating func add(_ role: any Command.Type, as kind: String) {
        seats.append(seat(role, kind, [], call.words.settings))
    }

    private func seat(
        _ role: any Command.Type,
        _ kind: String,
        number: Int? = nil,
        _ arguments: [String],
        _ settings: [String: String],
        _ place: [String: String] = [:]
    ) -> SupervisedProcess {
        let handed = Self.handed(settings, call.shell.environment)
        let program = ChildProgram(
            path: path,
            arguments: [role.name, "--\(Option.untilStdinEnds.name)"] + arguments + handed.flags,
            environment: handed.environment.merging(place) { $1 }
        )
        return SupervisedProcess(
            kind,
            number: number,
            program: program,
            lifeline: lifeline,
            limits: limits,
            logger: logger
        )
    }

    /// Runs until a signal, or until a process ends with an error that no restart can correct.
    package func run() async -> ExitCode {
        let group = ServiceGroup(
            seats + [SIGHUPForwarder(seats, logger: logger)],
            drainTimeout: drainTimeout,
            logger: logger,
            context: ServiceGroup.Context(endProcess: { [seats] code in
                for seat in seats { seat.kill() }
                _exit(code.rawValue)
            })
        )
        let ending = await group.run()
        logger.notice("stopped", ["because": .text("\(ending)")])
        return ending.exitCode
    }

    /// The time that a process may take beyond its drain timeout: its cancellation, and a little for its final writes.
    private static let margin = ServiceGroup.cancelTimeout + .seconds(2)

    /// Returns this command's settings for a child: secrets as environment variables, the others as flags.
    ///
    /// Every user of the machine may read the command lines of processes, but only the owner of a process may read its
    /// environment.
    package static func handed(
        _ settings: [String: String],
        _ environment: [String: String]
    ) -> (flags: [String], environment: [String: String]) {
        var (settings, environment) = (settings, environment)
        for setting in Setting.all {
            guard let file = setting.inFile, let secret = settings.removeValue(forKey: setting.flagName) else {
                continue
            }
            // As on the command line, the secret takes precedence over a file that the environment names.
            environment[file.environmentName] = nil
            environment[setting.environmentName] = secret
        }
        return (flags(settings), environment)
    }

    /// Returns the settings as the flags of another command.
    package static func flags(_ settings: [String: String]) -> [String] {
        settings.sorted { $0.key < $1.key }.map { "--\($0.key)=\($0.value)" }
    }
}

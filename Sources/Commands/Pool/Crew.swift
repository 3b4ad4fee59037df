import BellhopRules
import Foundation
import ServiceRuntime

/// Processes of this program that one command keeps on its machine: each is started again when it ends, a SIGHUP reaches
/// them all, and they end together.
struct Crew {
    private let call: Call
    private let logger: Logger
    private let lifeline: Lifeline
    private let path = ChildProgram.own()
    private var seats: [RoleSeat] = []

    init(_ call: Call, logger: Logger) throws(CommandFailure) {
        self.call = call
        self.logger = logger
        lifeline = try Lifeline()
    }

    /// Each worker has its metrics one port above the last.
    mutating func add(workers: Int, for lanes: [Lane], metricsFrom base: ListenAddress) throws(CommandFailure) {
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

    /// One process of another role, under the flags of this command; `kind` is what the log calls it.
    mutating func add(_ role: any Command.Type, as kind: String) {
        seats.append(seat(role, kind, [], call.words.settings))
    }

    private func seat(
        _ role: any Command.Type,
        _ kind: String,
        number: Int? = nil,
        _ arguments: [String],
        _ settings: [String: String],
        _ place: [String: String] = [:]
    ) -> RoleSeat {
        let handed = Self.handed(settings, call.shell.environment)
        let program = ChildProgram(
            path: path,
            arguments: [role.name, "--\(Option.untilStdinEnds.name)"] + arguments + handed.flags,
            environment: handed.environment.merging(place) { $1 }
        )
        return RoleSeat(kind, number: number, program: program, lifeline: lifeline, logger: logger)
    }

    /// Runs until a signal, or until somebody ends for what no restart can mend.
    func run(drainTimeout: Duration) async -> ExitCode {
        let group = ServiceGroup(
            seats + [HangupRelay(seats, logger: logger)],
            drainTimeout: drainTimeout + Self.margin,
            logger: logger,
            surroundings: ServiceGroup.Surroundings(endProcess: { [seats] code in
                for seat in seats { seat.kill() }
                _exit(code.rawValue)
            })
        )
        let ending = await group.run()
        logger.notice("stopped", ["because": .text("\(ending)")])
        return ending.exitCode
    }

    /// What one of them may take beyond its drain timeout: the time of its cancellation, and a little for its last words.
    private static let margin = ServiceGroup.cancelTimeout + .seconds(2)

    /// The settings of this command line as a child gets them: secrets by its environment, the others as flags.
    ///
    /// Every user of the machine may read the command lines of processes, and only their owner the environment.
    static func handed(
        _ settings: [String: String],
        _ environment: [String: String]
    ) -> (flags: [String], environment: [String: String]) {
        var (settings, environment) = (settings, environment)
        for setting in Setting.all {
            guard let file = setting.inFile, let secret = settings.removeValue(forKey: setting.flagName) else {
                continue
            }
            // As on the command line, it takes precedence over a file that the environment names.
            environment[file.environmentName] = nil
            environment[setting.environmentName] = secret
        }
        return (flags(settings), environment)
    }

    /// Settings as the flags of another command.
    static func flags(_ settings: [String: String]) -> [String] {
        settings.sorted { $0.key < $1.key }.map { "--\($0.key)=\($0.value)" }
    }
}

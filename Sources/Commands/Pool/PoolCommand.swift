import BellhopRules
import Foundation
import Pipeline
import Postgres
import ServiceRuntime
import Store

/// The command `bellhop pool --workers N [--lanes urgent,normal,bulk] [--api]`.
enum PoolCommand: Command {
    static let name = "pool"
    static let summary = "Runs several workers on this machine and starts each again when it ends."
    static let isRole = true
    static let synopsis = ["pool --workers N [--lanes urgent,normal,bulk] [--api]"]
    static let options = [
        Option.taking("workers", "N", "how many, 1 to \(mostWorkers); each has its metrics one port above the last"),
        Option.taking("lanes", "LIST", "the lanes that each serves; all three unless given"),
        Option.switch("api", "serve the inbox API, too, in a process of its own"),
    ]

    /// The port 100 above the base is the scheduler's.
    private static let mostWorkers = 100

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        guard let workers = try call.words.number("workers", in: 1...mostWorkers) else {
            throw call.words.misuse("--workers is missing")
        }
        let lanes = try call.words.lanes()
        let hasAPI = call.words.has("api")
        let needed: Set<Setting> = [.amqpURL, .databaseURL, .catalogs]
        let setup = try call.setup(requiring: hasAPI ? needed.union([.jwtKeys]) : needed)
        let catalogs = try setup.catalogs()
        let configuration = setup.configuration
        let logger = configuration.log.makeLogger(label: name)
        let seats = try seats(workers, lanes, configuration.metricsListen, call, logger)
        try await refuseWrongSetup(setup, catalogs, call.shell)
        let group = ServiceGroup(
            seats + [HangupRelay(seats, logger: logger)],
            drainTimeout: configuration.drainTimeout + margin,
            logger: logger,
            surroundings: ServiceGroup.Surroundings(endProcess: { code in
                for seat in seats { seat.kill() }
                _exit(code.rawValue)
            })
        )
        let ending = await group.run()
        logger.notice("stopped", ["because": .text("\(ending)")])
        return ending.exitCode
    }

    /// What is wrong for all workers, and what no restart can mend, is said once and before there is any.
    ///
    /// A server that is away is nothing of the kind: the workers wait for it.
    private static func refuseWrongSetup(
        _ setup: Setup,
        _ catalogs: CatalogSet,
        _ shell: Shell
    ) async throws {
        var options = try setup.poolOptions(as: .worker, name: name, size: 1)
        options.waitsForServer = false
        let pool = PostgresPool(options)
        var fault: (any Error)?
        do {
            let zones = ZoneLibrary(environment: shell.environment)
            try await setup.expectReady(catalogs, zones: zones, pool: pool)
        } catch {
            fault = Failure(error).exitCode == .configuration ? error : nil
        }
        await pool.close()
        if let fault { throw fault }
    }

    /// What a worker may take beyond its drain timeout: the time of its cancellation, and a little for its last words.
    private static let margin = ServiceGroup.cancelTimeout + .seconds(2)

    private static func seats(
        _ workers: Int,
        _ lanes: [Lane],
        _ base: ListenAddress,
        _ call: Call,
        _ logger: Logger
    ) throws(CommandFailure) -> [WorkerSeat] {
        let lifeline = try Lifeline()
        let path = ChildProgram.own()
        var seats: [WorkerSeat] = []
        if call.words.has("api") {
            let arguments = [APICommand.name, "--until-stdin-ends"] + flags(call.words.settings)
            let program = ChildProgram(path: path, arguments: arguments, environment: call.shell.environment)
            seats.append(WorkerSeat(name: "inbox API", program: program, lifeline: lifeline, logger: logger))
        }
        for number in 0..<workers {
            guard let listen = base.shifted(by: number) else {
                throw call.words.misuse("port \(base.port) has no \(workers) ports from it on")
            }
            let place = [Setting.metricsListen.environmentName: "\(listen)"]
            let program = ChildProgram(
                path: path,
                arguments: arguments(of: number, lanes, call.words.settings),
                environment: call.shell.environment.merging(place) { $1 }
            )
            seats.append(WorkerSeat(number: number, program: program, lifeline: lifeline, logger: logger))
        }
        return seats
    }

    /// The flags of the pool are those of its workers, but that each has its own port.
    private static func arguments(of number: Int, _ lanes: [Lane], _ settings: [String: String]) -> [String] {
        let settings = settings.filter { $0.key != Setting.metricsListen.flagName }
        return [WorkerCommand.name, "--number", String(number), "--until-stdin-ends"]
            + ["--lanes", lanes.map(\.rawValue).joined(separator: ",")]
            + flags(settings)
    }

    private static func flags(_ settings: [String: String]) -> [String] {
        settings.sorted { $0.key < $1.key }.map { "--\($0.key)=\($0.value)" }
    }
}

import BellhopRules
import Foundation
import Pipeline
import Postgres
import ServiceRuntime
import Store

/// The command `bellhop pool --workers N [--lanes urgent,normal,bulk]`.
struct PoolCommand: Command {
    static let name = "pool"
    static let summary = "Runs several workers on this machine and starts each again when it ends."
    static let isRole = true
    static let synopsis = ["pool --workers N [--lanes urgent,normal,bulk]"]
    static let options = [
        Option.taking("workers", "N", "how many, 1 to \(mostWorkers); each has its metrics one port above the last"),
        Option.taking("lanes", "LIST", "the lanes that each serves; all three unless given"),
    ]

    /// The port 100 above the base is the scheduler's.
    private static let mostWorkers = 100

    private let words: Words
    private let workers: Int
    private let lanes: [Lane]

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        guard let workers = try words.number("workers", in: 1...Self.mostWorkers, of: Self.name) else {
            throw .usage(of: Self.name, "--workers is missing")
        }
        self.words = words
        self.workers = workers
        lanes = try words.lanes(of: Self.name)
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.amqpURL, .databaseURL, .catalogs])
        let footing = Footing(configuration: configuration)
        let catalogs = try footing.catalogs()
        let logger = configuration.log.makeLogger(label: Self.name)
        let seats = try seats(configuration, surroundings, logger)
        try await refuseWrongGround(footing, catalogs, surroundings)
        let group = ServiceGroup(
            seats + [HangupRelay(seats, logger: logger)],
            drainTimeout: configuration.drainTimeout + Self.margin,
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
    private func refuseWrongGround(
        _ footing: Footing,
        _ catalogs: CatalogSet,
        _ surroundings: Surroundings
    ) async throws {
        var options = try footing.poolOptions(as: .worker, name: Self.name, size: 1)
        options.waitsForServer = false
        let pool = PostgresPool(options)
        var fault: (any Error)?
        do {
            let zones = ZoneLibrary(environment: surroundings.environment)
            try await footing.verifyGround(catalogs, zones: zones, pool: pool)
        } catch {
            fault = Failure(error).exitCode == .configuration ? error : nil
        }
        await pool.close()
        if let fault { throw fault }
    }

    /// What a worker may take beyond its drain timeout: the time of its cancellation, and a little for its last words.
    private static let margin = ServiceGroup.cancelTimeout + .seconds(2)

    private func seats(
        _ configuration: BellhopConfiguration,
        _ surroundings: Surroundings,
        _ logger: Logger
    ) throws(CommandFailure) -> [WorkerSeat] {
        let lifeline = try Lifeline()
        let path = ChildProgram.own()
        var seats: [WorkerSeat] = []
        for number in 0..<workers {
            guard let listen = configuration.metricsListen.shifted(by: number) else {
                throw .usage(
                    of: Self.name,
                    "port \(configuration.metricsListen.port) has no \(workers) ports from it on"
                )
            }
            let program = ChildProgram(
                path: path,
                arguments: arguments(of: number),
                environment: surroundings.environment.merging([Setting.metricsListen.environmentName: "\(listen)"]) {
                    $1
                }
            )
            seats.append(WorkerSeat(number: number, program: program, lifeline: lifeline, logger: logger))
        }
        return seats
    }

    /// The flags of the pool are those of its workers, but that each has its own port.
    private func arguments(of number: Int) -> [String] {
        let settings = words.settings.filter { $0.key != Setting.metricsListen.flagName }
        return [WorkerCommand.name, "--number", String(number), "--until-stdin-ends"]
            + ["--lanes", lanes.map(\.rawValue).joined(separator: ",")]
            + settings.sorted { $0.key < $1.key }.map { "--\($0.key)=\($0.value)" }
    }
}

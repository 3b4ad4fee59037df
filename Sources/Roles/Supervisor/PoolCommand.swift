package import CLI
package import ServiceRuntime
import Settings

/// The command `bellhop pool --workers N [--lanes urgent,normal,bulk] [--api]`.
package enum PoolCommand: Command {
    package static let name = "pool"
    package static let summary = "Runs several workers on this machine and restarts a worker that exits or hangs."
    package static let isRole = true
    package static let synopsis = ["pool --workers N [--lanes urgent,normal,bulk] [--api]"]
    package static let options = [
        Option.taking("workers", "N", "how many, 1 to \(mostWorkers); each has its metrics one port above the last"),
        Option.taking("lanes", "LIST", "the lanes that each serves; all three unless given"),
        Option.switch("api", "also serve the inbox API, in a separate process"),
    ]

    /// The limit of workers per pool.
    ///
    /// The port 100 above the base belongs to the scheduler.
    package static let mostWorkers = 100

    package static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        guard let workers = try call.words.number("workers", in: 1...mostWorkers) else {
            throw call.words.misuse("--workers is missing")
        }
        let lanes = try call.words.lanes()
        let hasAPI = call.words.has("api")
        let needed: Set<Setting> = [.amqpURL, .databaseURL, .catalogs]
        let setup = try hasAPI ? call.setupWithSignIn(requiring: needed) : call.setup(requiring: needed)
        let catalogs = try setup.catalogs()
        let configuration = setup.configuration
        var crew = try Crew(call, configuration, logger: configuration.log.makeLogger(label: name))
        if hasAPI { crew.add(APICommand.self, as: "inbox API") }
        try crew.add(workers: workers, for: lanes, metricsFrom: configuration.metricsListen)
        try await setup.expectNothingHopeless(catalogs, as: name, call.shell)
        return await crew.run()
    }
}

import BellhopRules
import CLI
import Foundation
import Roles
import ServiceRuntime
import Settings

/// The command `bellhop up [--workers N]`.
enum UpCommand: Command {
    static let name = "up"
    static let summary = "Migrates, applies the topology and runs all roles on this machine."
    static let isRole = true
    static let synopsis = ["up [--workers N]"]
    static let options = [
        Option.taking(
            "workers",
            "N",
            "how many workers, 1 to \(PoolCommand.mostWorkers); one for each core, and \(usuallyAtMost) at most, unless given"
        )
    ]

    private static let usuallyAtMost = 4

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let asked = try call.words.number("workers", in: 1...PoolCommand.mostWorkers)
        let workers = asked ?? min(ProcessInfo.processInfo.activeProcessorCount, usuallyAtMost)
        let setup = try call.setup(
            requiring: [.amqpURL, .databaseURL, .catalogs],
            reading: Setting.usualFiles.union(Setting.filesOfAPI).union([.operators])
        )
        let catalogs = try setup.catalogs()
        let configuration = setup.configuration
        let logger = configuration.log.makeLogger(label: name)
        var crew = try Crew(call, configuration, logger: logger)
        try crew.add(workers: workers, for: Lane.allCases, metricsFrom: configuration.metricsListen)
        crew.add(SchedulerCommand.self, as: "scheduler")
        if configuration.hasSignIn {
            crew.add(APICommand.self, as: "inbox API")
        } else {
            logger.notice("no inbox API: no token keys are configured", missing(.jwtKeys))
        }
        if configuration.operators != nil {
            crew.add(ConsoleCommand.self, as: "console")
        } else {
            logger.notice("no console: no operators are configured", missing(.operators))
        }
        let steps: [(any Command.Type, [String])] = [(MigrateCommand.self, []), (TopologyCommand.self, ["apply"])]
        for (command, operands) in steps {
            let flags = Crew.flags(call.words.settings)
            let words = try Words(operands + flags, options: command.options, of: command.name)
            let code = try await command.run(Call(words: words, shell: call.shell))
            guard code == .done else { return code }
        }
        try await setup.expectNothingHopeless(catalogs, as: name, call.shell)
        return await crew.run()
    }

    private static func missing(_ setting: Setting) -> LogFields {
        ["setting": .text(setting.environmentName)]
    }
}

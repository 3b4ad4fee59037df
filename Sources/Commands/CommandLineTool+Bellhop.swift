package import CLI
import Pipeline
import Roles
import ServiceRuntime
import Store

extension CommandLineTool {
    /// Makes the program from the commands of a running system and the commands in `tools`, which are for development.
    package static func bellhop(with tools: [any Command.Type]) -> CommandLineTool {
        CommandLineTool(
            running + tools + asking,
            versionLine: "bellhop \(BuildInfo.version) "
                + "(schema \(Migration.all.schemaNumber), messages \(MessageVersion.newest))",
            report: { Failure($0) }
        )
    }

    private static let running: [any Command.Type] = [
        UpCommand.self, MigrateCommand.self, TopologyCommand.self, WorkerCommand.self, PoolCommand.self,
        SchedulerCommand.self, APICommand.self, ConsoleCommand.self, RelayCommand.self, StatusCommand.self,
        PublishCommand.self,
        ValidateCommand.self, CheckConfigCommand.self,
    ]

    private static let asking: [any Command.Type] = [
        QuietCommand.self, NextRunCommand.self, DecideCommand.self, ExplainCommand.self, RevokeStaleCommand.self,
        CheckProviderCommand.self, KeysCommand.self, TokenCommand.self, DeadLettersCommand.self, FanoutsCommand.self,
        HoldCommand.self, RetriesCommand.self, ProvidersCommand.self, ImportCommand.self, ExportCommand.self,
    ]
}

import BellhopRules
import CLI
import Operations
import Pipeline
import Roles
import ServiceRuntime
import Settings
import Store

/// The command `bellhop explain`.
///
/// It shows why a user got or did not get a notification.
enum ExplainCommand: Command {
    static let name = "explain"
    static let summary =
        "Explains why a user did or did not get a notification."
    static let synopsis = [
        "explain --app A --user U NOTIFICATION [--json]",
        "explain --app A --user U --event ID [--json]",
    ]
    static let options = [
        Option.taking("app", "A", "the app"),
        Option.taking("user", "U", "the user"),
        Option.taking("event", "ID", "the producer's id; finds what is kept for later or was refused, too"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        let (recipient, subject) = (try recipient(call.words), try subject(call.words))
        let setup = try call.setup(requiring: [.databaseURL])
        let catalogs = setup.configuration.catalogs == nil ? nil : try setup.catalogs()
        let (story, holds, breakers) = try await reaching(
            for: "reading the notification's history",
            whatToDo: "bring the database back; bellhop status shows its state"
        ) { try await look(subject, recipient, setup) }
        let zones = ZoneLibrary(environment: call.shell.environment)
        let explanation = Explanation(
            story,
            holds: holds,
            breakers: breakers,
            catalogs: catalogs,
            zones: zones,
            now: SystemTime().timestamp
        )
        call.answer(explanation.json, explanation.text)
        return story.isUnknown ? .answerIsNo : .done
    }

    private static func look(
        _ subject: NotificationHistory.Subject,
        _ recipient: UserKey,
        _ setup: CommandContext
    ) async throws -> (NotificationHistory, [OperatorHold], [OpenBreaker]) {
        try await setup.withPool(as: .admin, name: name, patience: .seconds(10)) { pool in
            let story = try await NotificationHistoryStore(pool: pool).story(of: subject, for: recipient)
            return (story, try await OperatorHold.all(on: pool), try await OpenBreaker.all(on: pool))
        }
    }

    private static func recipient(_ words: Words) throws(CommandFailure) -> UserKey {
        UserKey(app: try words.required("app"), user: try words.required("user"))
    }

    private static func subject(_ words: Words) throws(CommandFailure) -> NotificationHistory.Subject {
        switch (words.operands.count, words.value("event")) {
        case (1, nil):
            guard let id = NotificationID(validating: words.operands[0]) else {
                throw words.misuse("expected the whole id of a notification, such as noti_1c0d30af6f555b13, or --event")
            }
            return .notification(id)
        case (0, .some): return .event(try words.required("event"))
        default: throw words.misuse("expected one notification, or --event and the id of an event")
        }
    }
}

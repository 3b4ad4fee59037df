import BellhopRules
import Pipeline
import ServiceRuntime
import Store

/// The command `bellhop explain`: why somebody got a notification, or did not.
struct ExplainCommand: Command {
    static let name = "explain"
    static let summary =
        "Says why a user did, or did not, get something: what happened, what waits, what the rules say."
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

    private let words: Words
    private let recipient: RecipientKey
    private let subject: NotificationStory.Subject

    init(_ words: Words) throws(CommandFailure) {
        self.words = words
        recipient = RecipientKey(
            app: try words.required("app", AppID.rule, of: Self.name, AppID.init(validating:)),
            user: try words.required("user", UserID.rule, of: Self.name, UserID.init(validating:))
        )
        switch (words.operands.count, words.value("event")) {
        case (1, nil):
            guard let id = NotificationID(validating: words.operands[0]) else {
                throw .usage(of: Self.name, "expected a notification such as noti_1c0d30af6f555b13, or --event")
            }
            subject = .notification(id)
        case (0, .some):
            subject = .event(try words.required("event", EventID.rule, of: Self.name, EventID.init(validating:)))
        default: throw .usage(of: Self.name, "expected one notification, or --event and the id of an event")
        }
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.databaseURL])
        let footing = Footing(configuration: configuration)
        let catalogs = configuration.catalogs == nil ? nil : try footing.catalogs()
        let pool = try footing.pool(as: .admin, name: Self.name, size: 1, patience: .seconds(10))
        let found: Result<NotificationStory, any Error>
        do {
            found = .success(try await StoryBook(pool: pool).story(of: subject, for: recipient))
        } catch {
            found = .failure(error)
        }
        await pool.close()
        let explanation = Explanation(
            try found.get(),
            catalogs: catalogs,
            zones: ZoneLibrary(environment: surroundings.environment),
            now: Timestamp(clamping: SystemTime().now().microseconds)
        )
        surroundings.print(words.has("json") ? explanation.json.description : explanation.text)
        return explanation.story.isUnknown ? .answerIsNo : .done
    }
}

/// A command as a page may fill it in: which of its options and operands come from outside, and what stands fixed.
///
/// Nothing else of a command line can be reached from a page: no settings, no files, no other operator's name.
struct DeskForm: Sendable {
    /// How many things a page may name beside the options.
    enum Operands: Sendable {
        case none, atMostOne, one, many

        var range: ClosedRange<Int> {
            switch self {
            case .none: 0...0
            case .atMostOne: 0...1
            case .one: 1...1
            case .many: 0...500
            }
        }
    }

    /// Its place: `/api/NAME`, or `/api/acts/NAME` for an act.
    let name: String
    /// The command's name and its verb.
    let command: [String]
    var operands = Operands.none
    /// Options that take a value.
    var options: Set<String> = []
    /// Options that stand for themselves.
    var switches: Set<String> = []
    /// What the console says by itself.
    var fixed: [String] = []
    /// Whether it changes something, or shows what the audit notes.
    var isAct = false
    /// Whether it shows words of messages as they are, which viewers do not get to see.
    var isPersonal = false
    /// Whether the command wants a count to be agreed to.
    var asksForConsent = false

    /// What may be in the place of a value.
    static let longestValue = 8_192
    /// As many rows as one page shows.
    static let longestList = 1_000
}

extension DeskForm {
    private static let filter: Set<String> = [
        "app", "type", "reason", "stage", "provider", "fingerprint", "user", "event", "text", "since", "until", "limit",
    ]
    private static let fanoutFilter: Set<String> = ["app", "event", "type", "topic"]

    /// What changes nothing; viewers may ask it, too, but for what is personal.
    static let readings = [
        DeskForm(name: "groups", command: ["dead-letters", "groups"], options: filter.union(["state"])),
        DeskForm(name: "letters", command: ["dead-letters", "list"], options: filter.union(["state", "sort"])),
        DeskForm(name: "letter", command: ["dead-letters", "show"], operands: .one),
        DeskForm(
            name: "forecast",
            command: ["dead-letters", "replay"],
            operands: .many,
            options: filter.union(["cap"]),
            fixed: ["--dry-run"]
        ),
        DeskForm(name: "replays", command: ["dead-letters", "replays"], operands: .atMostOne),
        DeskForm(name: "audit", command: ["dead-letters", "audit"], options: ["limit"]),
        DeskForm(name: "fanouts", command: ["fanouts", "list"], options: fanoutFilter.union(["state", "limit"])),
        DeskForm(name: "fanout", command: ["fanouts", "show"], operands: .one),
        DeskForm(name: "holds", command: ["hold", "list"], options: ["app"]),
        DeskForm(
            name: "explain",
            command: ["explain"],
            operands: .atMostOne,
            options: ["app", "user", "event"],
            isPersonal: true
        ),
    ]

    /// What takes an operator.
    static let acts = letterActs + replayActs + fanoutActs + holdActs

    private static let letterActs =
        ["discard", "restore", "note"].map { verb in
            DeskForm(
                name: verb,
                command: ["dead-letters", verb],
                operands: .many,
                options: filter.union(verb == "note" ? ["state"] : []),
                switches: ["all"],
                isAct: true,
                asksForConsent: true
            )
        } + [
            DeskForm(
                name: "undo",
                command: ["dead-letters", "undo"],
                operands: .one,
                isAct: true,
                asksForConsent: true
            ),
            DeskForm(
                name: "reveal",
                command: ["dead-letters", "show"],
                operands: .one,
                fixed: ["--reveal"],
                isAct: true
            ),
            DeskForm(
                name: "edit",
                command: ["dead-letters", "edit"],
                operands: .atMostOne,
                options: filter.union(["set", "routing-key"]),
                switches: ["all"],
                fixed: ["--detach"],
                isAct: true,
                asksForConsent: true
            ),
            DeskForm(
                name: "rewrite",
                command: ["dead-letters", "edit"],
                operands: .one,
                options: ["routing-key"],
                fixed: ["--detach", "--file=-"],
                isAct: true,
                asksForConsent: true
            ),
        ]

    private static let replayActs =
        [
            DeskForm(
                name: "replay",
                command: ["dead-letters", "replay"],
                operands: .many,
                options: filter.union(["rate", "pause-at", "cap", "at"]),
                switches: ["all", "ramp"],
                fixed: ["--detach"],
                isAct: true,
                asksForConsent: true
            )
        ]
        + ["pause", "resume", "cancel"].map { verb in
            DeskForm(name: "replay-\(verb)", command: ["dead-letters", verb], operands: .one, isAct: true)
        }

    private static let fanoutActs = ["pause", "resume", "cancel"].map { verb in
        DeskForm(
            name: "fanout-\(verb)",
            command: ["fanouts", verb],
            operands: .many,
            options: fanoutFilter,
            isAct: true,
            asksForConsent: true
        )
    }

    private static let holdActs = [
        DeskForm(name: "hold-add", command: ["hold", "add"], options: ["app", "type", "provider"], isAct: true),
        DeskForm(name: "hold-release", command: ["hold", "release"], operands: .one, isAct: true),
        DeskForm(
            name: "hold-discard",
            command: ["hold", "discard"],
            operands: .one,
            options: ["event"],
            isAct: true,
            asksForConsent: true
        ),
    ]
}

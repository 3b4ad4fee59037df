import CLI

/// The verbs of `bellhop dead-letters`.
enum DeadLetterVerb: String, CaseIterable, Sendable {
    case groups
    case list
    case show
    case replay
    case replays
    case pause
    case resume
    case cancel
    case edit
    case note
    case discard
    case restore
    case undo
    case export
    case `import`
    case audit

    /// The usage on the command line.
    var usage: String {
        switch self {
        case .groups: "groups [FILTER] [--watch] [--json]"
        case .list: "list [FILTER] [--sort ORDER] [--watch] [--json]"
        case .show: "show ITEM [--reveal] [--json]"
        case .note, .discard, .restore:
            "\(rawValue) [ITEM …] [FILTER|--all] [--dry-run] [--yes] [--by NAME] [--because TEXT] [--json]"
        case .undo: "undo ACT [--dry-run] [--yes] [--by NAME] [--because TEXT] [--json]"
        case .replay:
            "replay [ITEM …] [FILTER|--all] [--dry-run] [--at WHEN] [--rate N/s] [--ramp] [--pause-at PERCENT] [--cap N] [--detach] …"
        case .edit:
            "edit ITEM|FILTER [--set PLACE=VALUE …] [--file FILE] [--routing-key KEY] [--rate N/s] [--ramp] [--detach] [--dry-run] [--yes] [--by NAME] [--because TEXT]"
        case .export: "export [ITEM …] [FILTER] [--output FILE] [--by NAME] [--because TEXT]"
        case .import: "import FILE|- [--by NAME] [--because TEXT] [--json]"
        case .replays: "replays [REPLAY] [--watch] [--json]"
        case .resume: "resume REPLAY [--rate N/s] [--yes] [--by NAME] [--because TEXT] [--json]"
        case .pause, .cancel: "\(rawValue) REPLAY [--yes] [--by NAME] [--because TEXT] [--json]"
        case .audit: "audit [--by NAME] [--act ACT] [--text WORDS] [--limit N] [--json]"
        }
    }

    /// Returns the options that the verb accepts.
    func options(_ words: Words) -> Set<String> {
        let act: Set<String> = ["by", "because", "json"]
        // The options that the broker's queue supports without the database.
        if words.has("from-queue") {
            let scan = DeadLetterOptions.filters.subtracting(["state"]).union(["from-queue"])
            switch self {
            case .list, .groups: return scan.union(["json"])
            case .show: return ["from-queue", "json"]
            case .replay: return scan.subtracting(["limit"]).union(["all", "yes", "by", "because", "dry-run"])
            case .export: return scan.subtracting(["limit"]).union(["output", "by", "because"])
            default: return []
            }
        }
        return switch self {
        case .groups: DeadLetterOptions.filters.union(["json", "watch"])
        case .list: DeadLetterOptions.filters.union(["json", "watch", "sort"])
        case .show: act.union(["reveal"])
        case .replay:
            DeadLetterOptions.filters.subtracting(["state"]).union(act)
                .union(["all", "yes", "dry-run", "at", "rate", "ramp", "pause-at", "cap", "detach"])
        case .edit:
            DeadLetterOptions.filters.subtracting(["state"]).union(act)
                .union(["all", "yes", "dry-run", "set", "file", "routing-key", "detach", "rate", "ramp"])
        case .export: DeadLetterOptions.filters.union(act).union(["output"])
        case .import: act
        case .replays: ["json", "watch"]
        // They ask for no confirmation, and accept the option as the acts on fan-outs with the same names do.
        case .resume: act.union(["rate", "yes"])
        case .pause, .cancel: act.union(["yes"])
        case .note: DeadLetterOptions.filters.union(act).union(["all", "yes", "dry-run"])
        case .discard, .restore:
            DeadLetterOptions.filters.subtracting(["state"]).union(act).union(["all", "yes", "dry-run"])
        case .undo: act.union(["yes", "dry-run"])
        case .audit: ["by", "act", "text", "limit", "json"]
        }
    }
}

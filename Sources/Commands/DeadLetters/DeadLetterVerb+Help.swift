import CLI

/// The help texts of the verbs.
extension DeadLetterVerb {
    /// The description, in one or two sentences.
    var purpose: String {
        switch self {
        case .groups: "Groups dead letters by cause, largest group first."
        case .list: "Lists single items, most recent failure first; a unique id prefix names an item."
        case .show:
            "Shows one item. Personal data is masked; --reveal shows it and is recorded in the audit."
        case .replay:
            "Sends items again. A scheduler runs the replay, even if this terminal closes; --dry-run predicts each outcome."
        case .replays:
            "Lists replays, active ones first; for one replay, its failures and their reasons. With --watch, the command ends when that replay does."
        case .pause: "Pauses a replay immediately; items already sent still complete."
        case .resume: "Resumes a paused replay; --rate changes the rate of a running one, too."
        case .cancel: "Cancels a replay; unsent items become open again."
        case .edit:
            "Sends a corrected copy of a message that was never taken in; opens $EDITOR without --set or --file."
        case .note: "Writes into the history of items."
        case .discard: "Discards open items; restore reopens them, undo reverts a whole action."
        case .restore: "Opens items again that were discarded."
        case .undo: "Reverts a discard or restore by the act's number in the audit, for items unchanged since."
        case .export: "Writes items with their messages as JSON lines, personal data included; the audit notes it."
        case .import: "Imports items from an export."
        case .audit: "Lists operator actions with item counts and reasons, latest first."
        }
    }

    /// An example call.
    var example: String {
        switch self {
        case .groups: "groups --since 2h"
        case .list: "list --reason attempts-exhausted --provider fcm --sort oldest --limit 20"
        case .show: "show noti_635a46c"
        case .replay: "replay --fingerprint a9bec42e --ramp --because \"FCM says it is over\""
        case .replays: "replays 12 --watch"
        case .pause: "pause 12 --because \"it fails again\""
        case .resume: "resume 12 --rate 20/s --because \"the cause is corrected\""
        case .cancel: "cancel 12 --because \"not tonight\""
        case .edit: "edit 0bb40686 --set /id=login-4711 --because \"ticket 4711\""
        case .note: "note --fingerprint a9bec42e --because \"reported to FCM\""
        case .discard: "discard --reason malformed-json --since 1d --because \"their deploy test\""
        case .restore: "restore 0bb40686 --because \"it mattered\""
        case .undo: "undo 17 --because \"wrong filter\""
        case .export: "export --app drop --output /root/tonight.jsonl --because \"for their team\""
        case .import: "import /root/tonight.jsonl --because \"after the restore\""
        case .audit: "audit --limit 20"
        }
    }

    /// The complete text of `--help` for the verb.
    var help: String {
        let words = try? Words([rawValue], options: DeadLetterOptions.all, of: DeadLettersCommand.name)
        let known = words.map(options) ?? []
        return DeadLettersCommand.help(verb: usage, purpose, options: known, example: example)
    }
}

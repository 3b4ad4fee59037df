import CLI

/// The options of the dead-letter commands.
enum DeadLetterOptions {
    private static let filterOptions = [
        Option.taking("app", "A", "of this app"),
        Option.taking("type", "T", "of this event type"),
        Option.taking("reason", "R", "with this reason, such as attempts-exhausted"),
        Option.taking(
            "stage",
            "S",
            "given up at this stage: intake, record, feed, resume, dispatch, receipt, broker, desk"
        ),
        Option.taking("provider", "P", "refused by this provider, such as fcm"),
        Option.taking("fingerprint", "F", "of this group (fingerprint or unique prefix)"),
        Option.taking("user", "U", "about this user"),
        Option.taking("event", "ID", "of this event"),
        Option.taking("text", "WORDS", "text in error, event id or routing key; audit: in reason or filter (any case)"),
        Option.taking("since", "WHEN", "failed last at this instant or later; 2h means two hours ago"),
        Option.taking("until", "WHEN", "failed last before this instant"),
        Option.taking("state", "S", "open (unless given), replaying, resolved, discarded, or all"),
        Option.taking("limit", "N", "only the N most recent ones"),
    ]

    static let filters = Set(filterOptions.map(\.name))

    static let all =
        filterOptions + [
            .switch("all", "select all items, if there is no filter"),
            .taking("sort", "ORDER", "list: newest (unless given), oldest or deaths first"),
            .watch,
            .taking("at", "WHEN", "replay: begin at this instant, or after a span such as 2h"),
            .switch("dry-run", "change nothing: count the items, and for replay and edit predict their outcomes"),
            .taking("rate", "N/s", "replay, edit, resume: send at most N items per second"),
            .switch("ramp", "replay 1 item, then 2, 5, 10, …, each time after all before have an outcome"),
            .taking("pause-at", "PERCENT", "pause when so many of the latest hundred outcomes failed (20)"),
            .taking("cap", "N", "skip items replayed N times or more (5)"),
            .switch("detach", "return as soon as the replay has started"),
            .taking(
                "set",
                "PLACE=VALUE",
                "edit: put a value at a place of the body, /id=evt-1; may be given again",
                isRepeatable: true
            ),
            .taking("file", "FILE", "edit: take the whole body from a file, - for stdin"),
            .taking("routing-key", "KEY", "edit: send the copy under this routing key"),
            .taking("output", "FILE", "export: write to a new file; to stdout unless given"),
            .switch(
                "from-queue",
                "groups, list, show, replay, export: work on the broker's queue alone, without the database"
            ),
            .switch("yes", "skip the confirmation prompt"),
            .taking("act", "ACT", "audit: only acts of this kind, such as discard"),
            .taking("by", "NAME", "operator name in the audit (default for acts: system user)"),
            .taking("because", "TEXT", "reason for the audit; prompted for on a terminal"),
            .switch("reveal", "include personal data; recorded in the audit"),
            .json,
        ]
}

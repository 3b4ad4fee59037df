import Store

/// The advice for an item, by its reason.
///
/// The runbook contains the same lines.
enum DeadLetterAdvice {
    static func words(for cause: DeadLetterCause) -> String {
        byReason[cause.reason] ?? (cause.stage == .broker ? broker : unknown)
    }

    /// Returns the runbook page that explains the cause.
    static func runbook(for cause: DeadLetterCause) -> String {
        "docs/runbooks/dead-letters.md#" + (byReason[cause.reason] == nil ? "what-to-do-by-reason" : cause.reason)
    }

    /// The advice for every reason that the pipeline gives.
    static let byReason = [
        "malformed-json":
            "the producer sent no valid JSON: have it corrected; edit what must go out tonight, discard the rest",
        "too-large": "above 256 KiB: have the producer send less; it cannot go out as it is",
        "missing-id": "the producer gives no id: have it corrected; edit --set '/id={item}' what must go out",
        "missing-audience": "\"to\" names no audience: set it with edit --set /to=…",
        "unknown-app": "no catalogue describes the app: add it, topology apply, SIGHUP, then replay",
        "unknown-type": "the app's catalogue does not know the type: add it, topology apply, SIGHUP, then replay",
        "invalid-field": "the pointer says which field: edit what must go out, have the producer corrected",
        "id-conflict": "the id was used before with other content: edit --set /id=… if both are meant, else discard",
        "refused-by-store":
            "the database did not take a value that keeps every rule: report it as a bug, replay after the fix",
        "newer-message":
            "a newer release sent it, and a worker of this one took it: bring all workers to that release, then replay",
        "payload-refused":
            "the provider will never take this message: see its error; replay after a fix of the catalogue",
        "attempts-exhausted": "the provider kept failing: check its status, then replay --dry-run, then replay --ramp",
        "delivery-limit":
            "it was handed out 20 times and never finished: look for workers that crash, then replay --limit 1",
        "maxlen": "the queue was full: make room, then replay",
        "expired": "it waited longer than its time to live: replay if it still matters",
        "rejected": "a consumer that is not Bellhop rejected it: find out who reads our queues, then replay",
        "unexplained": "published to the queue by hand: show it, then edit or discard",
    ]

    private static let broker = "the broker gave it up: look at its log, then replay"
    private static let unknown = "a newer release gave this reason: see its runbook"
}

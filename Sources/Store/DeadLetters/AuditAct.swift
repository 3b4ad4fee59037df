/// The name of an act in the audit.
package enum AuditAct: String, CaseIterable, Sendable {
    case discard
    case restore
    case note
    case edit
    case reveal
    case export
    case `import`
    /// Retention has deleted settled dead letters.
    case delete
    case exportUser = "export-user"

    case replay
    case pause
    case resume
    case rate
    case cancel
    case replayNote = "replay-note"

    case holdAdd = "hold-add"
    case holdRelease = "hold-release"
    case holdDiscard = "hold-discard"
    /// The result of a discard.
    case holdDiscarded = "hold-discarded"
    case holdNote = "hold-note"

    case fanoutStop = "fanout-stop"
    case fanoutPause = "fanout-pause"
    case fanoutResume = "fanout-resume"
    case fanoutCancel = "fanout-cancel"
    case fanoutNote = "fanout-note"

    case retriesBringForward = "retries-bring-forward"
    /// The result of bringing retries forward.
    case retriesBroughtForward = "retries-brought-forward"
    case providerProbe = "provider-probe"

    /// The name as an SQL literal.
    var sql: String { "'\(rawValue)'" }
}

/// The steps of a dialogue with a mail server, by which a fault says where it strikes.
package enum DialoguePhase: String, CaseIterable, Sendable {
    case connect
    case ehlo
    case starttls
    case auth
    case mail
    case rcpt
    case data
    /// After the content.
    case endOfData = "end-of-data"
}

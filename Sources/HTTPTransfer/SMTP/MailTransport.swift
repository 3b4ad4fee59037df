/// Sends batches of mails to a mail server, independently of the library underneath.
package protocol MailTransport: Sendable {
    /// Sends all of `mails` and returns one outcome for each, in the same order, when the last of them has ended.
    ///
    /// It never throws: a mail that cannot be sent has an outcome like any other. If the calling task is cancelled,
    /// mails without an outcome get one immediately: active ones are unknown, the others were not sent.
    func send(_ mails: [OutgoingMail]) async -> [MailOutcome]

    /// Accepts no more mails, gives active ones a bounded time to end, and returns when everything is released.
    ///
    /// Mails that still wait for their turn are reported as not sent, and mails that do not end in time as unknown.
    func close() async
}

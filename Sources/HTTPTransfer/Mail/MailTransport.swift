/// Hands batches of mails to a mail server; what carries them stays behind this door.
package protocol MailTransport: Sendable {
    /// Sends all of `mails` and gives one outcome for each, in the same order, once the last of them has ended.
    ///
    /// Never throws: a mail that cannot be sent is an outcome like any other. If the calling task is cancelled, the mails
    /// that have no outcome yet get one at once: those that were under way are unknown, the others were not sent.
    func send(_ mails: [OutgoingMail]) async -> [MailOutcome]

    /// Stops taking mails, gives those under way a bounded time to end, and returns when everything is released.
    ///
    /// Mails that still wait for their turn are reported as not sent, those that do not end in time as unknown.
    func close() async
}

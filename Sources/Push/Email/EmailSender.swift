import HTTPTransfer
import ServiceRuntime

/// Sends one app's messages as mails through its relay.
package struct EmailSender: Sendable {
    let letterhead: EmailBranding
    let transport: any MailTransport
    var time: any TimeSource = SystemTime()
    var metrics: PushMetrics.SenderMetrics?
    /// The maximum number of messages in flight; further messages of a batch wait inside the sender.
    package var window = Int.max

    /// Sends all of `batch` and returns one verdict for each, in the same order, after the last one is known.
    ///
    /// The function never throws: every failure is a verdict. Cancelling the calling task abandons messages without an
    /// answer.
    package func send(_ batch: [EmailMessage]) async -> [Verdict] {
        await metrics.measured(batch, verdicts(on:))
    }

    private func verdicts(on batch: [EmailMessage]) async -> [Verdict] {
        let seconds = time.now().microseconds / 1_000_000
        var verdicts = Array(repeating: Verdict.payloadError(.addressUnsupported), count: batch.count)
        var mails: [OutgoingMail] = []
        var places: [Int] = []
        for (index, message) in batch.enumerated() {
            guard let mail = EmailBuilder.mail(message, letterhead, secondsSince1970: seconds) else { continue }
            mails.append(mail)
            places.append(index)
        }
        for (place, outcome) in zip(places, await transport.send(mails)) {
            let messageID = EmailBuilder.messageID(of: batch[place], letterhead)
            verdicts[place] = EmailAnswer.read(outcome, messageID: messageID)
        }
        return verdicts
    }
}

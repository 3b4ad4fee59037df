import ServiceRuntime

/// A mail transport over libcurl: SMTP with TLS, always, on a few connections that are kept from mail to mail.
///
/// Releasing the last reference ends the connections too, without waiting for it.
package final class SMTPTransport: MailTransport {
    private let options: SMTPTransportOptions
    private let desk: MailDesk

    /// Opens the transport; nothing is connected yet.
    package init(_ options: SMTPTransportOptions) throws(TransferError) {
        try options.validate()
        self.options = options
        desk = try MailDesk(options)
    }

    deinit {
        desk.beginClosing()
        desk.giveUp()
    }

    package func send(_ mails: [OutgoingMail]) async -> [MailOutcome] {
        guard !mails.isEmpty else { return [] }
        let batch = MailBatch(mails, attempt: options.attempt)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                batch.begin(continuation)
                desk.submit(batch)
            }
        } onCancel: {
            batch.giveUp(.cancelled)
        }
    }

    package func close() async {
        desk.beginClosing()
        let desk = desk
        let grace = options.closeGrace
        let deadline = Task {
            try await Task.sleep(for: grace)
            desk.giveUp()
        }
        await desk.waitForLanes()
        deadline.cancel()
    }
}

import BellhopRules
import HTTPTransfer

extension PushSenders.Surroundings {
    func sender(
        _ email: ProviderConfiguration.Email,
        for app: AppID,
        over transport: any MailTransport
    ) -> EmailSender {
        var sender = EmailSender(
            letterhead: email.letterhead,
            transport: transport,
            time: time,
            metrics: metrics?.forEmail(app: app)
        )
        sender.window = email.window
        return sender
    }
}

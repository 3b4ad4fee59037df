import BellhopRules
import ServiceRuntime
import TLS

/// The dependencies that all dialogues of the sandbox's mail server share.
struct MailServerState: Sendable {
    /// The only account that may send.
    let credentials: MailCredentials
    let tls: TLSServerContext
    let faults: FaultList
    let log: ReceivedLog
    let time: any TimeSource
    /// The maximum size of a mail in bytes.
    let longestMail = 1 << 20

    /// Returns the reply for a valid address, selected by the beginning of its local part; `nil` accepts the recipient.
    ///
    /// `unknown-…` has no mailbox, `full-…` has a full mailbox, `grey-…` is greylisted, and `spam-…` rejects every
    /// content.
    static func verdict(onRecipient address: String) -> MailReply? {
        if address.hasPrefix("unknown-") { return MailReply(550, "5.1.1 No such user here") }
        if address.hasPrefix("full-") { return MailReply(452, "4.2.2 The mailbox is full") }
        return address.hasPrefix("grey-") ? MailReply(450, "4.7.1 Greylisted, try again later") : nil
    }

    /// Records an accepted mail or a rejection.
    func record(_ event: MailEvent) {
        var headers = HeaderBlock()
        headers.append(name: ":method", value: "MAIL")
        headers.append(name: ":path", value: "/\(event.phase.rawValue)")
        var judgement = ProviderDecision { StandInAnswer(http: HTTP2Answer(status: 250), reason: nil) }
        judgement.refused = event.violation
        judgement.token = event.envelope.recipients.first
        judgement.tag = event.mail?.header("message-id")
        judgement.content = .json(event.json)
        log.append(
            ReceivedLog.Entry(
                at: time.now(),
                provider: .email,
                request: HTTP2Request(connection: event.connection, headers: headers, body: []),
                judgement: judgement,
                answer: event.reply.map { reply in
                    .init(status: reply.code, reason: reply.isRefusal ? reply.lines.first : nil)
                }
            )
        )
    }
}

/// The credentials for sending through the sandbox's mail server.
package struct MailCredentials: Sendable, Equatable {
    package var user: String
    package var password: String
}

/// Sender and recipients as named in the dialogue.
struct MailEnvelope: Sendable {
    var sender: String?
    var recipients: [String] = []
}

/// An event to record: a mail or a rejection.
struct MailEvent {
    let connection: UInt64
    let phase: DialoguePhase
    let envelope: MailEnvelope
    /// `nil` if the dialogue ended before the mail or if the mail could not be read.
    var mail: ReceivedMail?
    /// The protocol violation of the client, if any.
    var violation: String?
    /// `nil` if the connection was dropped.
    let reply: MailReply?

    var json: JSONValue {
        var object: JSONObject = [
            "phase": .string(phase.rawValue), "from": .text(envelope.sender),
            "to": .array(envelope.recipients.map(JSONValue.string)),
        ]
        if let mail {
            object["headers"] = .object(JSONObject(mail.headers.map { ($0.name, .string($0.value)) }))
            object["subject"] = .text(mail.header("subject").map(EncodedWords.decode))
            object["text"] = .text(mail.text)
            object["html"] = .text(mail.html)
        }
        return .object(object)
    }
}

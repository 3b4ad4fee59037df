/// What became of one published message.
package enum PublishOutcome: Sendable, Equatable {
    /// Every queue it was routed to has it, safe against a crash of the broker.
    case confirmed
    /// The broker has it nowhere: no queue is bound for it, or its exchange does not exist.
    case unroutable(String)
    /// The broker refused it (nack): a queue is full, or could not store it. Another queue may hold a copy.
    case refused
    /// It may be stored or not: the connection or channel ended, or time ran out, before the confirm. It is not sent
    /// again by itself.
    case unknown(String)
    /// The broker certainly does not have it: not connected or blocked for too long; or it was the message for which
    /// the broker closed the channel for once. Sending it again cannot duplicate it.
    case notSent(String)
    /// It can never be sent as it is: it has a property that the protocol cannot carry or the broker does not take.
    case unwritable(String)
    /// It can never be sent as it is: its body is larger than we, or the broker, let through.
    case tooLarge(String)

    /// Why the broker takes nothing from anybody while it has an alarm, in the one wording that people get to read.
    package static let alarm = "the broker has an alarm, for memory or disk, and takes no messages"
}

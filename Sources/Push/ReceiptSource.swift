package import BellhopRules

/// Where a provider tells, some time after it took a message, what became of it.
package protocol ReceiptSource: Sendable {
    var provider: PushProvider { get }

    /// Asks about all of `tickets` and gives one answer for each, in the same order.
    ///
    /// Never throws, and may be asked again at any time: asking changes nothing.
    func ask(_ tickets: [String]) async -> [ReceiptAnswer]
}

/// What a provider says about a ticket.
package enum ReceiptAnswer: Hashable, Sendable {
    /// It is known now: delivered, the device gone, or something to retry, to mend or to give up.
    case known(Verdict)
    /// The provider does not know yet, or does not know any more.
    case missing
    /// The question itself failed, for this reason; not to be asked again sooner.
    case unanswered(VerdictReason, notBefore: Duration)
}

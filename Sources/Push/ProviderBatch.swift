import BellhopRules

/// The processing of one batch by a provider: the messages that wait for an answer, and the verdicts so far.
///
/// `Draft` is the form of a message in which the provider's sender sends it.
struct ProviderBatch<Draft> {
    /// A message without a verdict.
    struct UnansweredMessage {
        /// The position in the batch.
        let index: Int
        var draft: Draft
    }

    private(set) var waiting: [UnansweredMessage] = []

    /// The verdicts in the order of the batch.
    ///
    /// A waiting message has `unanswered`, which applies if no answer arrives.
    private(set) var verdicts: [Verdict]

    private let unanswered: Verdict

    init(_ batch: [PushMessage], unanswered: Verdict, _ draft: (PushMessage) throws(MessageRefusal) -> Draft) {
        self.unanswered = unanswered
        verdicts = Array(repeating: unanswered, count: batch.count)
        waiting.reserveCapacity(batch.count)
        for (index, message) in batch.enumerated() {
            do throws(MessageRefusal) {
                waiting.append(UnansweredMessage(index: index, draft: try draft(message)))
            } catch {
                verdicts[index] = error.verdict
            }
        }
    }

    /// Evaluates one answer for each waiting message, in their order; without a verdict, a message continues to wait.
    mutating func take<Answer>(_ answers: [Answer], _ verdict: (inout Draft, Answer) -> Verdict?) {
        var rest = answers.makeIterator()
        let unanswered = unanswered
        settle { draft in
            guard let answer = rest.next() else { return unanswered }
            return verdict(&draft, answer)
        }
    }

    /// Gives verdicts on waiting messages; without one, a message continues to wait.
    mutating func settle(_ verdict: (inout Draft) -> Verdict?) {
        var remaining: [UnansweredMessage] = []
        for var message in waiting {
            if let verdict = verdict(&message.draft) {
                verdicts[message.index] = verdict
            } else {
                remaining.append(message)
            }
        }
        waiting = remaining
    }
}

/// The reason why a message is not sent.
struct MessageRefusal: Error {
    let verdict: Verdict

    init(_ verdict: Verdict) { self.verdict = verdict }
}

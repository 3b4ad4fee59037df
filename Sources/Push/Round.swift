import BellhopRules

/// One batch on its way through a provider: what still waits for an answer, and the verdicts so far.
///
/// `Draft` is what a provider makes of a message before it can go out.
struct Round<Draft> {
    /// A message that has no verdict yet.
    struct Waiting {
        /// Its place in the batch.
        let index: Int
        var draft: Draft
    }

    private(set) var waiting: [Waiting] = []

    /// In the order of the batch; a message that waits is `unanswered`, which is what it would be if nobody came back.
    private(set) var verdicts: [Verdict]

    private let unanswered: Verdict

    init(_ batch: [PushMessage], unanswered: Verdict, _ draft: (PushMessage) throws(Refusal) -> Draft) {
        self.unanswered = unanswered
        verdicts = Array(repeating: unanswered, count: batch.count)
        waiting.reserveCapacity(batch.count)
        for (index, message) in batch.enumerated() {
            do throws(Refusal) {
                waiting.append(Waiting(index: index, draft: try draft(message)))
            } catch {
                verdicts[index] = error.verdict
            }
        }
    }

    /// Takes one answer for each message that waits, in their order; without a verdict it waits on.
    mutating func take<Answer>(_ answers: [Answer], _ verdict: (inout Draft, Answer) -> Verdict?) {
        var rest = answers.makeIterator()
        let unanswered = unanswered
        settle { draft in
            guard let answer = rest.next() else { return unanswered }
            return verdict(&draft, answer)
        }
    }

    /// Gives verdicts on what waits; without one a message waits on.
    mutating func settle(_ verdict: (inout Draft) -> Verdict?) {
        var remaining: [Waiting] = []
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

/// Why a message is not even sent.
struct Refusal: Error {
    let verdict: Verdict

    init(_ verdict: Verdict) {
        self.verdict = verdict
    }
}

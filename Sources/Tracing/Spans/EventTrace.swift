package import BellhopRules
import Cryptography

/// Where an event stands in its trace.
///
/// Its ids follow from the event: whoever takes up a part of it later, in whichever process, finds the same ones and nothing
/// has to be kept for it but what the producer said.
package struct EventTrace: Hashable, Sendable {
    /// Of the span that is its receipt.
    package let context: SpanContext
    /// The producer's span; nil where the trace begins here.
    package let parent: SpanContext?

    package init(of event: EventID, _ app: AppID, under said: TraceParent?, _ sampler: Sampler) {
        parent = said.flatMap(SpanContext.init)
        let numbers = Self.numbers([app.text, event.text])
        let trace = parent?.trace ?? TraceID(high: numbers[0], low: numbers[1])
        var context = SpanContext(
            trace: trace,
            span: SpanID(numbers[2]),
            isSampled: sampler.samples(trace, under: parent)
        )
        context.state = parent?.state
        self.context = context
    }

    private static func numbers(_ words: [String]) -> [UInt64] {
        var bytes = Array("bellhop trace".utf8)
        for word in words { bytes += [0] + word.utf8 }
        let digest = SHA256.digest(of: bytes).bytes
        return stride(from: 0, to: 24, by: 8).map { start in
            digest[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
    }
}

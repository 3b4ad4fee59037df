package import BellhopRules
import Cryptography

/// The position of an event in its trace.
///
/// Its ids are derived from the event. A process that handles a part of the event later computes the same ids, so that
/// only the producer's trace context has to be stored.
package struct EventTrace: Hashable, Sendable {
    /// The context of the span for the event's receipt.
    package let context: SpanContext
    /// The producer's span; `nil` if the trace begins here.
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

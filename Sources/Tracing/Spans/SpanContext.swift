package import BellhopRules

/// The 16 bytes that all spans of a trace share; never zero.
package struct TraceID: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = high | low == 0 ? 1 : low
    }

    /// 32 hex digits.
    package var text: String { high.hexDigits + low.hexDigits }
}

/// The 8 bytes that distinguish a span from the others of its trace; never zero.
package struct SpanID: Hashable, Sendable {
    let number: UInt64

    package init(_ number: UInt64) { self.number = max(1, number) }

    /// 16 hex digits.
    package var text: String { number.hexDigits }
}

/// The reference from one span to another: its position, and whether it is kept.
package struct SpanContext: Hashable, Sendable {
    package let trace: TraceID
    package internal(set) var span: SpanID
    package var isSampled: Bool
    /// Whether another process created it.
    package var isRemote = false
    /// The trace state of other systems, verbatim.
    package var state: String?

    package init(trace: TraceID, span: SpanID, isSampled: Bool) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
    }

    /// Reads the trace context of a producer or a caller.
    package init?(_ parent: TraceParent) {
        let parts = parent.text.split(separator: "-")
        guard parts.count == 4, let high = UInt64(parts[1].prefix(16), radix: 16),
            let low = UInt64(parts[1].dropFirst(16), radix: 16), let span = UInt64(parts[2], radix: 16),
            let flags = UInt8(parts[3], radix: 16)
        else { return nil }
        self.init(trace: TraceID(high: high, low: low), span: SpanID(span), isSampled: flags & 1 == 1)
        isRemote = true
        state = parent.state
    }
}

extension UInt64 {
    fileprivate var hexDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

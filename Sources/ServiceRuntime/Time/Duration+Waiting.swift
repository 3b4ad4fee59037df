package import Dispatch

extension Duration {
    /// Whole milliseconds for `poll`, clamped to its range.
    ///
    /// They are rounded up so that a wait never ends early and never becomes a busy loop of zeros.
    package var pollMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 2_000_000 else { return .max }
        return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    package var dispatchInterval: DispatchTimeInterval { .milliseconds(Int(pollMilliseconds)) }
}

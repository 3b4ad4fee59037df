import Dispatch

extension Duration {
    /// Whole milliseconds, rounded up so that a wait never ends before its time; clamped to what `poll` takes.
    var pollMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 2_000_000 else { return .max }
        return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    var dispatchInterval: DispatchTimeInterval {
        .milliseconds(Int(pollMilliseconds))
    }

    /// How errors spell it: `30 s`, `250 ms`.
    var spelled: String {
        let milliseconds = pollMilliseconds
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}

/// Counts frames that do not advance an answer: interim heads, and DATA frames without data.
///
/// A peer may send some of each. A peer that keeps sending them occupies a processor for the whole timeout of the
/// request.
struct IdleFrames {
    private var interimHeads = 0
    private var emptyFrames = 0
    private var hasBody = false

    /// Records that the current frame contained a piece of the body.
    mutating func noteBody() {
        hasBody = true
    }

    /// Counts a finished frame, which is either an interim head or a DATA frame; returns false if there were too many.
    mutating func end(isHead: Bool) -> Bool {
        defer { hasBody = false }
        if isHead {
            interimHeads += 1
        } else if !hasBody {
            emptyFrames += 1
        }
        return interimHeads <= Self.mostInterimHeads && emptyFrames <= Self.mostEmptyFrames
    }

    static let mostInterimHeads = 16
    static let mostEmptyFrames = 100
}

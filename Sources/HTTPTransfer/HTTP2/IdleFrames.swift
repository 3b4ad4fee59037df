/// Counts the frames of an answer that do not bring it further: interim heads, and DATA frames without data.
///
/// A peer may send some of each. One that goes on sending them keeps a processor busy for as long as the request may take.
struct IdleFrames {
    private var interimHeads = 0
    private var emptyFrames = 0
    private var hasBody = false

    /// A piece of the body has come in the current frame.
    mutating func noteBody() {
        hasBody = true
    }

    /// Counts a frame that has ended, which is either an interim head or a DATA frame; false if there were too many.
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

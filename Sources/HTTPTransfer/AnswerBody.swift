/// The body of an answer while it arrives, kept within a cap.
struct AnswerBody {
    private(set) var bytes: [UInt8] = []

    /// Bytes were dropped since they exceeded the cap.
    private(set) var isTruncated = false

    /// Takes a piece; false once the cap is exceeded.
    mutating func take(_ piece: UnsafeRawBufferPointer, limit: Int) -> Bool {
        let room = limit - bytes.count
        bytes.append(contentsOf: piece.prefix(room))
        isTruncated = piece.count > room
        return !isTruncated
    }
}

import AMQP
import Store

/// The headers that state that only the beginning of a body is left.
extension FieldTable {
    mutating func mark(_ cut: BodyTruncation) {
        self[DeadLetterHeaders.bodyCut] = .boolean(true)
        self[DeadLetterHeaders.bodyBytes] = .int64(Int64(clamping: cut.bytes))
        self[DeadLetterHeaders.bodyDigest] = .string(cut.sha256.description)
    }

    /// The cut that a dead letter's headers state; `nil` if the body is complete.
    var cutBody: TruncatedBody? {
        guard self[DeadLetterHeaders.bodyCut] == .boolean(true) else { return nil }
        return TruncatedBody(
            bytes: self[DeadLetterHeaders.bodyBytes]?.integer ?? 0,
            sha256: self[DeadLetterHeaders.bodyDigest]?.text ?? ""
        )
    }
}

extension TruncatedBody {
    /// Creates the value for a body that was cut at its arrival.
    init(_ cut: BodyTruncation) {
        self.init(bytes: cut.bytes, sha256: cut.sha256.description)
    }
}

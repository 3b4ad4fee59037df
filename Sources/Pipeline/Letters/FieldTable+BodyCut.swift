import AMQP
import Store

/// How a dead letter says that only the beginning of a body is left.
extension FieldTable {
    mutating func mark(_ cut: BodyCut) {
        self[DeadLetterHeaders.bodyCut] = .boolean(true)
        self[DeadLetterHeaders.bodyBytes] = .int64(Int64(clamping: cut.bytes))
        self[DeadLetterHeaders.bodyDigest] = .string(cut.sha256.description)
    }

    /// What one of our letters says of its body; nil where that is whole.
    var cutBody: CutBody? {
        guard self[DeadLetterHeaders.bodyCut] == .boolean(true) else { return nil }
        return CutBody(
            bytes: self[DeadLetterHeaders.bodyBytes]?.integer ?? 0,
            sha256: self[DeadLetterHeaders.bodyDigest]?.text ?? ""
        )
    }
}

extension CutBody {
    /// Of a body that was cut as it arrived.
    init(_ cut: BodyCut) {
        self.init(bytes: cut.bytes, sha256: cut.sha256.description)
    }
}

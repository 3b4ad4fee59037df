/// One incoming request and its answer.
final class ServerStream {
    /// The part of a request that exceeded its limit and is discarded.
    enum Excess {
        case headers
        case body
    }

    let id: Int32
    private(set) var headers = HeaderBlock()
    private(set) var body: [UInt8] = []
    private(set) var excess: Excess?
    /// Whether an answer has been passed to libnghttp2; there can be only one.
    private(set) var isAnswered = false
    private var answerBody: [UInt8] = []
    private var sent = 0
    /// The number of bytes of the answer's body that may be sent so far.
    private var released = Int.max

    init(id: Int32) { self.id = id }

    func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, limit: Int) {
        guard headers.byteCount + name.count + value.count <= limit else {
            excess = .headers
            return
        }
        headers.append(name: name, value: value)
    }

    func append(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) {
        guard excess == nil else { return }
        guard body.count + bytes.count <= limit else {
            excess = .body
            body = []
            return
        }
        body.append(contentsOf: bytes)
    }

    /// Sets the answer's body, of which only the first `released` bytes may be sent for now; its end counts as one more
    /// byte.
    func answer(with body: [UInt8], released: Int = .max) {
        isAnswered = true
        answerBody = body
        self.released = released
    }

    /// Releases one more byte and returns whether bytes remain.
    func releaseByte() -> Bool {
        released += 1
        return released < answerBody.count
    }

    var isBodySent: Bool { sent == answerBody.count }

    /// Copies the next bytes of the answer's body and returns their number; `nil` if none may be sent now.
    func copyBody(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        guard sent < released else { return nil }
        let count = min(buffer.count, answerBody.count - sent, released - sent)
        answerBody.withUnsafeBytes { source in
            UnsafeMutableRawBufferPointer(buffer).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: source[sent..<sent + count])
            )
        }
        sent += count
        return count
    }
}

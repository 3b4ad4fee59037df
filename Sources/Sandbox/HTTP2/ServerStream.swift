/// One request on its way in and its answer on the way out.
final class ServerStream {
    /// What went beyond a limit, and so is thrown away.
    enum Excess {
        case headers
        case body
    }

    let id: Int32
    private(set) var headers = HeaderBlock()
    private(set) var body: [UInt8] = []
    private(set) var excess: Excess?
    /// True once an answer was handed to libnghttp2: there can be only one.
    private(set) var isAnswered = false
    private var answerBody: [UInt8] = []
    private var sent = 0
    /// How much of the answer's body may go out so far.
    private var released = Int.max

    init(id: Int32) {
        self.id = id
    }

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

    /// Of the body, only the first `released` bytes may go out for now; its end counts as one byte more.
    func answer(with body: [UInt8], released: Int = .max) {
        isAnswered = true
        answerBody = body
        self.released = released
    }

    /// Lets one byte more go out, and says whether that leaves something.
    func releaseByte() -> Bool {
        released += 1
        return released < answerBody.count
    }

    var isBodySent: Bool { sent == answerBody.count }

    /// Copies the next bytes of the answer's body, and says how many; nil where none may go out now.
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

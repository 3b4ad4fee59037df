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

    func answer(with body: [UInt8]) {
        isAnswered = true
        answerBody = body
    }

    var isBodySent: Bool { sent == answerBody.count }

    /// Copies the next bytes of the answer's body, and says how many.
    func copyBody(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let count = min(buffer.count, answerBody.count - sent)
        answerBody.withUnsafeBytes { source in
            UnsafeMutableRawBufferPointer(buffer).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: source[sent..<sent + count])
            )
        }
        sent += count
        return count
    }
}

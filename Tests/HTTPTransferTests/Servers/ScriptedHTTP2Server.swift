import Foundation
import Synchronization

/// A peer that speaks HTTP/2 frame by frame, as a test dictates, behind the TLS of `openssl s_server`.
///
/// s_server carries what it reads from its connections, one after the other, to its standard output, and its standard
/// input to the connection.
final class ScriptedHTTP2Server: Sendable {
    /// What a test may say to the frames that come in.
    enum Reply: Sendable {
        /// Status 200.
        case answer(endsStream: Bool = true, body: String? = nil)
        case reset(code: UInt32)
        case goAway(lastStream: UInt32)
        case hangUp
    }

    /// A request whose last byte has arrived.
    struct Request: Sendable {
        let connection: Int
        let stream: UInt32

        /// Over all connections, from 0.
        let index: Int

        /// Whether the client sent it before it had heard the server's settings.
        let precedesSettings: Bool
    }

    static var isAvailable: Bool { TestCertificate.isAvailable }

    let port: UInt16
    let certificate: TestCertificate
    private let conversation: Conversation

    /// Requests that arrived whole, over all connections.
    var requestCount: Int { requests.count }

    var requests: [Request] { conversation.received }

    /// Starts the server.
    ///
    /// With `withholdsSettings`, it tells its settings (one stream at a time) only when the first request of a
    /// connection has come, as seen from a client that is far away.
    init(withholdsSettings: Bool = false, _ script: @escaping @Sendable (Request) -> [Reply]) async throws {
        let certificate = try TestCertificate()
        let (process, port) = try await ChildProcess.serving("openssl", connected: true) { port in
            [
                "s_server", "-quiet", "-alpn", "h2", "-accept", "127.0.0.1:\(port)", "-key", certificate.keyFile,
                "-cert", certificate.certificateFile,
            ]
        }
        self.certificate = certificate
        self.port = port
        let conversation = Conversation(process, withholdsSettings: withholdsSettings, script)
        self.conversation = conversation
        Thread { conversation.run() }.start()
    }

    deinit {
        // The end of the process ends the thread.
        conversation.hangUp()
    }
}

/// Reads frames from a process, lets a script judge the requests, and writes the frames that it asks for.
private final class Conversation: Sendable {
    typealias Request = ScriptedHTTP2Server.Request

    private let process: ChildProcess
    private let withholdsSettings: Bool
    private let script: @Sendable (Request) -> [ScriptedHTTP2Server.Reply]
    private let requests = Mutex<[Request]>([])

    var received: [Request] { requests.withLock { $0 } }

    init(
        _ process: ChildProcess,
        withholdsSettings: Bool,
        _ script: @escaping @Sendable (Request) -> [ScriptedHTTP2Server.Reply]
    ) {
        self.process = process
        self.withholdsSettings = withholdsSettings
        self.script = script
    }

    func hangUp() {
        process.end()
    }

    func run() {
        var reader = FrameReader(process.stream)
        var connection = -1
        var areSettingsTold = false
        var areSettingsKnown = false
        while let frame = reader.next() {
            if frame.isPreface {
                connection += 1
                areSettingsTold = !withholdsSettings
                areSettingsKnown = false
                if areSettingsTold { write(Frame(kind: .settings)) }
                continue
            }
            if frame.kind == .settings {
                areSettingsKnown = areSettingsKnown || frame.acknowledges
                if !frame.acknowledges, areSettingsTold { write(Frame(kind: .settings, flags: Frame.acknowledgement)) }
            }
            guard frame.endsRequest else { continue }
            let request = requests.withLock { requests in
                let request = Request(
                    connection: connection,
                    stream: frame.stream,
                    index: requests.count,
                    precedesSettings: !areSettingsKnown
                )
                requests.append(request)
                return request
            }
            if !areSettingsTold {
                areSettingsTold = true
                write(Frame(kind: .settings, payload: Frame.oneStream))
                write(Frame(kind: .settings, flags: Frame.acknowledgement))
            }
            for reply in script(request) { send(reply, to: request) }
        }
    }

    private func send(_ reply: ScriptedHTTP2Server.Reply, to request: Request) {
        switch reply {
        case .answer(let endsStream, let body):
            let isLast = body == nil && endsStream
            let flags = Frame.endsHeaders | (isLast ? Frame.endsStream : 0)
            write(Frame(kind: .headers, flags: flags, stream: request.stream, payload: [Frame.statusOK]))
            guard let body else { return }
            let end = endsStream ? Frame.endsStream : 0
            write(Frame(kind: .data, flags: end, stream: request.stream, payload: Array(body.utf8)))
        case .reset(let code):
            write(Frame(kind: .reset, stream: request.stream, payload: Frame.bytes(of: code)))
        case .goAway(let lastStream):
            write(Frame(kind: .goAway, payload: Frame.bytes(of: lastStream) + Frame.bytes(of: 0)))
        case .hangUp:
            hangUp()
        }
    }

    /// A frame is far smaller than what a socket takes at once.
    private func write(_ frame: Frame) {
        let bytes = frame.encoded
        _ = Foundation.send(process.stream, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    }
}

/// One HTTP/2 frame (RFC 9113 §4.1), or the client's preface.
private struct Frame {
    enum Kind: UInt8 {
        case data = 0
        case headers = 1
        case reset = 3
        case settings = 4
        case goAway = 7
    }

    static let acknowledgement: UInt8 = 1
    static let endsStream: UInt8 = 1
    static let endsHeaders: UInt8 = 4

    /// SETTINGS_MAX_CONCURRENT_STREAMS = 1.
    static let oneStream: [UInt8] = [0, 3, 0, 0, 0, 1]

    /// `:status: 200` in HPACK's static table.
    static let statusOK: UInt8 = 0x88
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    var kind: Kind?
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []
    var isPreface = false

    var acknowledges: Bool { flags & Self.acknowledgement != 0 }

    var endsRequest: Bool { (kind == .headers || kind == .data) && flags & Self.endsStream != 0 }

    static func bytes(of number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    var encoded: [UInt8] {
        var bytes = Array(Self.bytes(of: UInt32(payload.count)).dropFirst())
        bytes += [kind?.rawValue ?? 0, flags]
        bytes += Self.bytes(of: stream)
        return bytes + payload
    }
}

/// Cuts a stream of bytes into frames.
private struct FrameReader {
    private let input: CInt
    private var buffer: [UInt8] = []

    init(_ input: CInt) {
        self.input = input
    }

    /// The next frame of any kind; nil at the end of the stream.
    mutating func next() -> Frame? {
        guard fill(9) else { return nil }
        if buffer.starts(with: "PRI * HTT".utf8) {
            guard fill(Frame.preface.count) else { return nil }
            buffer.removeFirst(Frame.preface.count)
            return Frame(isPreface: true)
        }
        let length = buffer[0..<3].reduce(0) { $0 << 8 | Int($1) }
        guard fill(9 + length) else { return nil }
        defer { buffer.removeFirst(9 + length) }
        let stream = buffer[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return Frame(kind: Frame.Kind(rawValue: buffer[3]), flags: buffer[4], stream: stream)
    }

    private mutating func fill(_ count: Int) -> Bool {
        while buffer.count < count {
            var piece = [UInt8](repeating: 0, count: 16_384)
            let length = read(input, &piece, piece.count)
            guard length > 0 else { return false }
            buffer += piece.prefix(length)
        }
        return true
    }
}

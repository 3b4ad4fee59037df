import API
import BellhopJSON
import HTTPServer
import Pipeline
import ServiceRuntime
import Store
import Synchronization
import TestSupport
import Testing

/// A client that reads a stream without a socket.
final class LiveReader: Sendable {
    /// An event as received.
    struct Event: Sendable {
        var id = ""
        var kind = ""
        var data: JSONValue = .null
    }

    private struct State {
        var text = ""
        var events: [Event] = []
        var comments = 0
        var hasEnded = false
    }

    let status: Int
    let headers: HTTPHeaders
    private let state = Mutex(State())
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ response: HTTPResponse) {
        status = response.status
        headers = response.headers
        guard case .stream(let pieces) = response.body else {
            state.withLock { $0.hasEnded = true }
            return
        }
        let reading = Task { [weak self] in
            for await piece in pieces { self?.take(piece) }
            self?.state.withLock { $0.hasEnded = true }
        }
        task.withLock { $0 = reading }
    }

    deinit {
        task.withLock { $0?.cancel() }
    }

    /// Ends reading, like a client that disconnects.
    func close() {
        task.withLock { $0?.cancel() }
    }

    var events: [Event] { state.withLock { $0.events } }
    var kinds: [String] { events.map(\.kind) }
    var comments: Int { state.withLock { $0.comments } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// The ids of the notifications that the stream delivered, in order.
    var arrived: [String] { events.filter { $0.kind == "notification" }.compactMap { $0.data["id"]?.string } }

    /// Waits until at least `count` events have arrived, and returns all events.
    func wait(for count: Int) async throws -> [Event] {
        try await eventually("\(count) events, not \(kinds)") { events.count >= count }
        return events
    }

    private func take(_ piece: [UInt8]) {
        state.withLock { state in
            state.text += String(decoding: piece, as: UTF8.self)
            while let end = state.text.range(of: "\n\n") {
                Self.read(String(state.text[..<end.lowerBound]), into: &state)
                state.text.removeSubrange(..<end.upperBound)
            }
        }
    }

    private static func read(_ block: String, into state: inout State) {
        var event = Event()
        for line in block.split(separator: "\n") {
            if line.hasPrefix(":") { state.comments += 1 }
            if line.hasPrefix("id: ") { event.id = String(line.dropFirst(4)) }
            if line.hasPrefix("event: ") { event.kind = String(line.dropFirst(7)) }
            if line.hasPrefix("data: ") {
                event.data = (try? JSONParser().parse(Array(line.dropFirst(6).utf8)).get()) ?? .null
            }
        }
        if !event.kind.isEmpty { state.events.append(event) }
    }
}

extension APIFixture {
    /// Runs a body while this process serves streams.
    func whileLive<Value>(_ body: () async throws -> Value) async throws -> Value {
        let drain = DrainSignal()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for service in [live.hub, live.herald] as [any Service] {
                group.addTask { try await service.run(until: drain) }
            }
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            drain.fire()
            try await group.waitForAll()
            return try result.get()
        }
    }

    /// Opens a stream as a user.
    func stream(as user: String = "ada", app: String = "drop", since id: String? = nil) async throws -> LiveReader {
        try await stream(with: try token(user, app: app), since: id)
    }

    func stream(with token: String, since id: String? = nil) async throws -> LiveReader {
        var headers: HTTPHeaders = ["Authorization": "Bearer \(token)"]
        if let id { headers.add("Last-Event-ID", id) }
        let target = try #require(RequestTarget("/api/notifications/stream"))
        return LiveReader(await api.respond(to: HTTPRequest(method: "GET", target: target, headers: headers)))
    }

    /// Announces a change of a user's inbox, as another process does.
    func announce(_ user: String = "ada", app: String = "drop") async throws {
        let reader = try recipient(user, app: app)
        let book = ListenerStore(pool: servers.pool, namespace: servers.namespace)
        try await book.announce([UserHash(reader)])
    }
}

import Foundation
import ServiceRuntime

/// Many live streams that are open at once, and what they take of the server.
struct StreamCrowd: Sendable {
    /// What came of it.
    struct Outcome: Sendable {
        let open: Int
        let seconds: Double
        /// Bytes that the server had in memory before the first, and after each had been told what it has to be told.
        let before: Int
        let after: Int

        var text: String {
            let each = open > 0 ? (after - before) / open : 0
            return "open streams".padding(to: 36)
                + "\(open.grouped) in \(seconds.text(digits: 1)) s, \(after.megabytes), \(each.grouped) bytes each"
        }

        var json: JSONText {
            .object([
                ("open", .number(open)), ("seconds", .decimal(seconds, digits: 2)),
                ("residentBytesBefore", .number(before)), ("residentBytes", .number(after)),
            ])
        }
    }

    let server: APIServer
    let count: Int

    /// Opens them one after the other, and waits until each has been told how many are unread.
    func open(_ requests: APIRequests) async throws -> Outcome {
        let before = try server.residentBytes()
        let start = SystemTime().steady()
        let streams = await withCheckedContinuation { waiter in
            NativeThread.start(named: "streams") { waiter.resume(returning: begin(requests)) }
        }
        let after = try server.residentBytes()
        let seconds = (SystemTime().steady() - start).secondsAsDouble
        return Outcome(open: streams.count, seconds: seconds, before: before, after: after)
    }

    /// The streams that are open and have received their first event; each is closed when it is released.
    ///
    /// A few of each user at a time: the API rejects a user's seventh concurrent request.
    private func begin(_ requests: APIRequests) -> [LoopbackSocket] {
        let step = 4 * max(1, requests.users)
        return stride(from: 0, to: count, by: step).flatMap { start in
            (start..<min(start + step, count)).compactMap { open(requests.stream($0)) }.filter(Self.hears)
        }
    }

    private func open(_ request: [UInt8]) -> LoopbackSocket? {
        guard let socket = LoopbackSocket(port: server.port), socket.send(request) else { return nil }
        return socket
    }

    /// Reads until the first event is there.
    private static func hears(_ socket: LoopbackSocket) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 8 * 1_024)
        var filled = 0
        while bytes[..<filled].firstRange(of: Array("unreadCount".utf8)) == nil {
            let count = socket.receive(into: &bytes, from: filled)
            guard count > 0 else { return false }
            filled += count
        }
        return true
    }
}

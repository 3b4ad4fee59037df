import BellhopRules
import CLI
import Foundation
import Operations
import ServiceRuntime

/// Opens many live streams at the same time and measures the server's memory.
struct StreamLoad: Sendable {
    /// The result of the measurement.
    struct Outcome: Sendable {
        let open: Int
        let seconds: Double
        /// The server's resident memory in bytes, before the first stream and after the first event of every stream.
        let before: Int
        let after: Int

        var text: String {
            let each = open > 0 ? (after - before) / open : 0
            return "open streams".padding(to: 36)
                + "\(open.grouped) in \(seconds.text(digits: 1)) s, \(after.megabytes), \(each.grouped) bytes each"
        }

        var json: JSONValue {
            .members([
                ("open", .int(open)), ("seconds", .decimal(seconds, digits: 2)),
                ("residentBytesBefore", .int(before)), ("residentBytes", .int(after)),
            ])
        }
    }

    let server: APIServer
    let count: Int

    /// Opens the streams, and waits until each has received its unread count.
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

    /// Returns the open streams that have received their first event.
    ///
    /// Each is closed when it is released.
    ///
    /// At most four streams per user are opened at the same time, since the API rejects a user's seventh concurrent
    /// request.
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

    /// Reads until the first event has arrived.
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

import Foundation
import HTTPTransfer
import TestSupport
import Testing

/// Not a test of behaviour: prints what a request costs.
///
/// Run with `BELLHOP_TRANSFER_SPEED=1` in a release build.
@Suite(
    "Transfer speed",
    .inTurn,
    .serialized,
    .enabled(
        if: ProcessInfo.processInfo.environment["BELLHOP_TRANSFER_SPEED"] != nil && HTTP2Server.isAvailable,
        "a measurement, not a test: set BELLHOP_TRANSFER_SPEED=1 to run it"
    )
)
struct TransferSpeed {
    @Test(
        "prints the client CPU of a request over one HTTP/2 connection",
        arguments: [1, 20, 100]
    )
    func http2(streams: Int) async throws {
        let server = try await HTTP2Server([])
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.window = streams }
        let request = TransferRequest(
            .post,
            url: server.url("/small"),
            headers: [
                ("authorization", "bearer \(String(repeating: "x", count: 200))"), ("apns-topic", "com.example.app"),
                ("apns-push-type", "alert"), ("apns-collapse-id", "noti_0123456789abcdef"),
                ("content-type", "application/json"),
            ],
            body: [UInt8](repeating: UInt8(ascii: "b"), count: 300)
        )
        let batch = Array(repeating: request, count: 256)
        _ = await transport.send(batch)
        let senders = 2
        let rounds = streams == 1 ? 40 : 200
        let began = ContinuousClock.now
        let cpuBegan = Self.cpuSeconds
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<senders {
                group.addTask { for _ in 0..<(rounds / senders) { _ = await transport.send(batch) } }
            }
        }
        let cpu = Self.cpuSeconds - cpuBegan
        let elapsed = (ContinuousClock.now - began) / .seconds(1)
        let count = Double(rounds * batch.count)
        print(
            "\(streams) streams: \(Int(count / elapsed)) requests/s, \(cpu / count * 1e6) µs of client CPU each"
        )
        await transport.close()
    }

    private static var cpuSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let times = [usage.ru_utime, usage.ru_stime]
        return times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }
}

import BellhopJSON
import Foundation
import HTTPServer
import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Console

@Suite(
    "Request bodies of the console",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil && Servers.amqpURL != nil, "needs both servers"),
    .timeLimit(.ofTest)
)
struct ConsoleHeadTests {
    /// Returns the status of each answer.
    ///
    /// Each request has its own connection, which the server closes.
    private static func statuses(_ console: OperatorConsole, _ requests: [String]) async throws -> [String] {
        let server = try HTTPServer.start(
            listen: try #require(ListenAddress("127.0.0.1:0")),
            limits: OperatorConsole.limits,
            admission: console.admit,
            handler: console.respond(to:)
        )
        let port = server.address.port
        let statuses = await onOwnThread {
            requests.map { request in
                guard let client = RawClient(port: port) else { return "no connection" }
                client.send(request)
                return client.readAll().split(separator: " ").dropFirst().first.map(String.init) ?? "nothing"
            }
        }
        await server.stop()
        return statuses
    }

    private static func head(_ line: String, _ fields: [String]) -> String {
        (["POST \(line) HTTP/1.1", "Host: h", "Connection: close"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
    }

    @Test("a large body is accepted only from a signed-in operator's page, and a sign-in body has at most 1 KiB")
    func bodies() async throws {
        try await ConsoleFixture.with([DeadLetterSamples.rejected("a-letter")]) { console in
            let (viewer, person) = (try await console.signIn(.viewer), try await console.signIn())
            let cookie = { (browser: ConsoleFixture.Browser) in
                ["Cookie: \(browser.cookie)", "X-Bellhop-Proof: \(browser.proof)"]
            }
            let (large, small) = ("Content-Length: 2000000", #"{"token":"x"}"#)
            let statuses = try await Self.statuses(
                console.console,
                [
                    Self.head("/api/sign-in", [large]), Self.head("/api/sign-in", ["Content-Length: 1025"]),
                    Self.head("/api/acts/discard", [large]), Self.head("/api/acts/discard", [large] + cookie(viewer)),
                    Self.head("/api/acts/discard", [large, "Cookie: \(person.cookie)"]),
                    Self.head("/api/sign-out", [large] + cookie(person)), Self.head("/api/nothing", [large]),
                    Self.head("/api/sign-in", ["Content-Length : 13"]) + small,
                    Self.head("/api/sign-in", ["Content-Length: 13", "Content-Type: application/jsonx"]) + small,
                    Self.head("/api/sign-in", ["Content-Length: 13", "Content-Type: application/json"]) + small,
                    Self.head("/api/acts/discard", ["Content-Length: 2", "Content-Type: text/plain"] + cookie(person))
                        + "{}",
                ]
            )
            let counted = #"bellhop_console_requests_total{route="/api/acts/discard",method="POST",status="401"} 1"#
            #expect(console.metrics.text().contains(counted))
            #expect(
                statuses == ["413", "413", "401", "403", "403", "413", "404", "400", "415", "401", "415"]
            )
        }
    }
}

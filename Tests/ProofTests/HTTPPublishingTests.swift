import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// Runs concurrently with the other proofs, since no other proof uses these servers.
@Suite(
    "Events published by HTTP",
    .limitedProofConcurrency,
    .enabled(if: PrivateServers.areThere, "needs setpriv, RabbitMQ and PostgreSQL installed"),
    .timeLimit(.ofProof)
)
struct HTTPPublishingTests {
    private static let clients = 8
    private static let size = Proof.isFull ? 50_000 : 800

    /// The events that were answered with 202.
    private final class Tally: Sendable {
        private struct State {
            var accepted: Set<String> = []
            var repeats = 0
            var isOver = false
        }

        private let state = Mutex(State())

        var accepted: Set<String> { state.withLock { $0.accepted } }
        var repeats: Int { state.withLock { $0.repeats } }
        /// Whether the clients must go on: until all faults have happened, and for the whole size.
        var isUnfinished: Bool { state.withLock { !$0.isOver || $0.accepted.count < size } }

        func add(_ ids: [String], calls: Int) {
            state.withLock { state in
                state.accepted.formUnion(ids)
                state.repeats += calls - 1
            }
        }

        func end() { state.withLock { $0.isOver = true } }
    }

    @Test("every event answered with 202 is recorded exactly once, in spite of killed processes and restarted servers")
    func accepted() async throws {
        try await PrivateServers.with { servers in
            try await Stage.with(servers.addresses) { stage in
                let publishing = try await PublishingProcess(stage)
                let worker = try await stage.worker()
                let tally = Tally()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for client in 0..<Self.clients {
                        group.addTask {
                            var number = 0
                            var isBatch = false
                            while tally.isUnfinished {
                                // Every second call is a batch.
                                let count = isBatch ? 10 : 1
                                let ids = (number..<number + count).map { "c\(client)-\($0)" }
                                let calls = try await publishing.publish(ids)
                                tally.add(ids, calls: calls)
                                number += count
                                isBatch.toggle()
                            }
                        }
                    }
                    try await Self.disturb(publishing, servers) { tally.accepted.count }
                    tally.end()
                    try await group.waitForAll()
                }
                let accepted = tally.accepted
                try await eventually("all events are recorded", atMost: .proof) {
                    try await stage.count("notifications") >= accepted.count
                }
                try await worker.drain()
                let recorded = try await stage.column("SELECT event_id FROM notifications")
                #expect(recorded.count == accepted.count)
                #expect(Set(recorded) == accepted)
                #expect(try await stage.count("dead_letters") == 0)
                Proof.report(
                    "published by HTTP: \(accepted.count) events accepted and recorded, \(tally.repeats) calls repeated"
                )
            }
        }
    }

    /// Kills, ends and restarts everything in turn, each while calls are accepted.
    private static func disturb(
        _ publishing: PublishingProcess,
        _ servers: PrivateServers,
        _ count: () -> Int
    ) async throws {
        let faults: [() async throws -> Void] = [
            { try await publishing.restart(with: SIGKILL) },
            { try await servers.restart(.broker, with: SIGTERM) },
            { try await publishing.restart(with: SIGTERM) },
            { try await servers.restart(.database, with: SIGQUIT) },
            { try await publishing.restart(with: SIGKILL) },
        ]
        for fault in faults {
            let before = count()
            try await eventually("calls are accepted", atMost: .proof) {
                count() > before + size / 10
            }
            try await fault()
        }
    }
}

/// A process of the API that keeps its address when it is started again.
///
/// Thread safety: all members but the running process are constant, and that is behind a lock.
private final class PublishingProcess: Sendable {
    private let stage: Stage
    private let token: String
    private let environment: [String: String]
    private let port: UInt16
    private let child: Mutex<ProgramRun>

    init(_ stage: Stage) async throws {
        self.stage = stage
        let (keys, publishers) = (stage.folder.path + "/keys.json", stage.folder.path + "/publishers.json")
        try await stage.bellhop("keys", "tokens", "--out", stage.folder.path + "/key.pem", "--set", keys)
        let made = try await stage.bellhop(
            "keys",
            "publisher",
            "--name",
            "shop",
            "--app",
            "drop",
            "--set",
            publishers
        )
        guard let token = made.firstMatch(of: /bhpub_[A-Za-z0-9_-]{43}/) else {
            throw ProofFailure("no token in \(made)")
        }
        self.token = String(token.0)
        let settings = ["BELLHOP_JWT_KEYS": keys, "BELLHOP_PUBLISHERS": publishers]
        let first = settings.merging(["BELLHOP_API_LISTEN": "127.0.0.1:0"]) { $1 }
        let run = try stage.start(Program.bellhop, ["api"], stage.environment(first))
        try await run.waitForLog("service=\"inbox API\"")
        guard let address = run.log.firstMatch(of: /service="inbox API" address=http:\/\/127\.0\.0\.1:([0-9]+)/),
            let port = UInt16(address.1)
        else { throw ProofFailure("the API does not say where it listens:\n\(run.log)") }
        self.port = port
        environment = stage.environment(settings.merging(["BELLHOP_API_LISTEN": "127.0.0.1:\(port)"]) { $1 })
        child = Mutex(run)
    }

    /// Ends the process, waits for its end and starts it again.
    func restart(with signal: Int32) async throws {
        let old = child.withLock { $0 }
        old.send(signal)
        let ending = try await old.ending(atMost: .proof)
        guard signal == SIGKILL || ending == .exited(0) else { throw ProofFailure("the API: \(ending)\n\(old.log)") }
        let new = try stage.start(Program.bellhop, ["api"], environment)
        child.withLock { $0 = new }
        try await new.waitForLog("service=\"inbox API\"")
    }

    /// Posts the events until the answer is 202, and returns the number of calls.
    func publish(_ ids: [String]) async throws -> Int {
        let events = ids.map { #"{"id":"\#($0)","to":{"user":"ada"},"title":"QR-betaling","body":"129 kr betalt"}"# }
        let call = ids.count > 1 ? batch(events) : binary(events[0])
        var calls = 0
        try await eventually("\(ids[0]) is accepted", atMost: .proof) {
            calls += 1
            guard let answer = try? await call.answer() else { return false }
            guard [202, 503].contains(answer.status) else { throw ProofFailure("\(answer.status): \(answer.text)") }
            return answer.status == 202
        }
        return calls
    }
    /// Makes a call with one CloudEvent in binary form; the id in its data takes precedence.
    private func binary(_ event: String) -> PlainCall {
        call(
            event,
            [
                "Content-Type: application/json", "ce-specversion: 1.0", "ce-id: x", "ce-source: /p",
                "ce-type: qr_payment",
            ]
        )
    }

    private func batch(_ events: [String]) -> PlainCall {
        let head = #"{"specversion":"1.0","id":"x","source":"/p","type":"qr_payment","data":"#
        let elements = events.map { head + $0 + "}" }
        return call("[" + elements.joined(separator: ",") + "]", ["Content-Type: application/cloudevents-batch+json"])
    }

    private func call(_ body: String, _ headers: [String]) -> PlainCall {
        PlainCall(
            "POST",
            port: port,
            path: "/api/events",
            headers: ["Authorization: Bearer \(token)"] + headers,
            body: Array(body.utf8)
        )
    }
}

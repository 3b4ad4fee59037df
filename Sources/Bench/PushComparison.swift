import BellhopRules
import Foundation
import Roles
import Settings

/// Compares a peer's pushes with Bellhop's before anything is measured.
///
/// Both process the same events and push to the strict sandbox, which checks and records the requests.
struct PushComparison: Sendable {
    let testbed: Testbed
    let stub: PushStub
    let workload: Workload

    private static let events = 40

    /// Returns the differences, in words; none if all pushes are equal except for the notifications' ids.
    func faults(of peer: PeerWorker) async throws -> [String] {
        let events = workload.events..<workload.events + Self.events
        let file = testbed.folder + "/strict.json5"
        try PushStub.writeProviders(file, stub.strict.place.url)
        let ours = try await pushes(events) {
            try testbed.start(
                [WorkerCommand.name, "--lanes", "normal"],
                log: "worker-compared",
                with: [Setting.providers.environmentName: file]
            )
        }
        let theirs = try await pushes(events) {
            try await peer.pushing(to: stub.strict.place.url).start(on: testbed)
        }
        return Self.differences(ours, theirs)
    }

    /// Publishes events to a process, and returns its requests.
    private func pushes(_ events: Range<Int>, _ start: () async throws -> BenchChild) async throws -> [JSONValue] {
        let before = try await stub.strict.received(after: 0).last?["number"]?.number?.int64 ?? 0
        let expected = workload.expectation(for: events.lazy.map(workload.user(ofEvent:))).pushes
        let child = try await start()
        try await testbed.publish(events, of: workload)
        var requests: [JSONValue] = []
        try await testbed.wait([child], for: "\(expected) pushes") {
            requests = try await stub.strict.received(after: UInt64(clamping: before))
            return (requests.count, requests.count >= expected)
        }
        await child.end()
        // Events without a push may still be in the queue.
        _ = try await testbed.purgeQueues()
        return requests
    }

    /// Compares requests that the sandbox recorded, each with the one for the same device and event.
    static func differences(_ ours: [JSONValue], _ theirs: [JSONValue]) -> [String] {
        var expected: [String: [String: JSONValue]] = [:]
        for request in ours { expected[key(request)] = members(of: request["body"] ?? .null) }
        var faults: [String] = []
        for request in theirs {
            if let status = request["answer"]?["status"]?.number?.int64, status != 200 {
                faults.append("the provider rejects a push of the peer: \(request["answer"]?["reason"]?.string ?? "")")
            }
            guard let wanted = expected.removeValue(forKey: key(request)) else {
                faults.append("a push of the peer is repeated, or not to be sent")
                continue
            }
            let found = members(of: request["body"] ?? .null)
            let places = Set(wanted.keys).union(found.keys).filter { wanted[$0] != found[$0] }
            if !places.isEmpty { faults.append("pushes differ at \(places.sorted().joined(separator: ", "))") }
        }
        if !expected.isEmpty { faults.append("\(expected.count) pushes of the peer are missing") }
        // One difference usually occurs in all of them.
        return Set(faults).sorted()
    }

    /// The device and the event's target, of which each event has its own.
    private static func key(_ request: JSONValue) -> String {
        let message = request["body"]?["message"]
        return "\(message?["token"]?.string ?? "") \(message?["data"]?["targetId"]?.string ?? "")"
    }

    /// Returns the values by their places, such as `message.data.type`, with the notification's id as one word.
    private static func members(of body: JSONValue) -> [String: JSONValue] {
        let id = body["message"]?["data"]?["notificationId"] ?? .null
        var found: [String: JSONValue] = [:]
        func add(_ value: JSONValue, at place: String) {
            guard let object = value.object else {
                found[place] = value == id && isID(id) ? .string("the notification's id") : value
                return
            }
            for member in object.members {
                add(member.value, at: place.isEmpty ? member.key : "\(place).\(member.key)")
            }
        }
        add(body, at: "")
        return found
    }

    private static func isID(_ value: JSONValue) -> Bool {
        guard let text = value.string, text.hasPrefix("noti_"), text.count == 21 else { return false }
        return text.dropFirst(5).allSatisfy { "0123456789abcdef".contains($0) }
    }
}

import BellhopRules
import HTTPTransfer
import ServiceRuntime

/// One sandbox process that is listening.
struct SandboxProcess {
    let process: BenchChild
    let providers: String
    let control: String
    let authorityFile: String

    init(_ testbed: Testbed, name: String, words: [String]) async throws {
        authorityFile = "\(testbed.folder)/\(name).pem"
        process = try testbed.start(
            ["sandbox", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--ca-out", authorityFile]
                + words,
            log: name
        )
        var addresses: [String: String] = [:]
        while addresses["fcm"] == nil || addresses["control"] == nil {
            try process.expectRunning()
            try await Task.sleep(for: .milliseconds(20))
            addresses = Self.addresses(in: process.log)
        }
        providers = addresses["fcm"] ?? ""
        control = addresses["control"] ?? ""
    }

    /// Returns the addresses on which the process listens, from its log.
    private static func addresses(in log: String) -> [String: String] {
        log.split(separator: "\n").reduce(into: [:]) { found, line in
            guard case .success(.object(let record)) = JSONParser(limits: .event).parse(Array(line.utf8)),
                record["message"]?.string == "listening", let service = record["service"]?.string
            else { return }
            found[service] = record["address"]?.string
        }
    }

    /// Returns FCM's requests that the sandbox has received after the one with this number.
    func received(after number: UInt64) async throws -> [JSONValue] {
        try await Self.told(control, "?provider=fcm&after=\(number)")?.array ?? []
    }

    /// Returns an answer of the control interface about the received requests.
    static func told(
        _ control: String,
        _ what: String,
        by method: TransferRequest.Method = .get
    ) async throws -> JSONValue? {
        var options = CurlTransportOptions(name: "bench")
        options.allowsPlainHTTP = true
        options.bodyLimit = longestAnswer
        let transport = try CurlTransport(options)
        let outcomes = await transport.send([TransferRequest(method, url: control + "/received" + what)])
        await transport.close()
        guard case .answered(let answer)? = outcomes.first else { return nil }
        let limits = JSONParser.Limits(bytes: longestAnswer, depth: 32)
        return try? JSONParser(limits: limits).parse(answer.body).get()
    }

    private static let longestAnswer = 64 << 20
}

import BellhopRules
import CLI
import Foundation
import HTTPTransfer
import ServiceRuntime

/// The emulators that answer a benchmark's pushes and issue its access tokens.
///
/// Tokens come from a separate, strict sandbox, so that the stub receives only pushes and its count is exact.
struct PushStub: Sendable {
    /// An HTTP/2 server that answers every request with 200 and `{"name": "…"}`.
    struct Place: Sendable, Equatable {
        let url: String
        let authorityFile: String
    }

    /// Our own stub, or `nil` if another one was named.
    let process: BenchChild?
    private let control: String?
    /// The port, if the stub is on this machine.
    let localPort: Int?

    /// Starts the emulators and writes the providers' file.
    ///
    /// Our own stub records the arrival of pushes that contain the word.
    static func start(_ testbed: Testbed, at place: Place?, noting word: String? = nil) async throws -> PushStub {
        let tokens = try await SandboxProcess(
            testbed,
            name: "tokens",
            words: ["--service-account-out", testbed.folder + "/account.json"]
        )
        let stub: PushStub
        let named: Place
        if let place {
            stub = PushStub(process: nil, control: nil, localPort: localPort(of: place.url))
            named = place
        } else {
            let noting = word.map { ["--note", $0] } ?? []
            let stand = try await SandboxProcess(testbed, name: "stub", words: ["--unchecked"] + noting)
            stub = PushStub(process: stand.process, control: stand.control, localPort: nil)
            named = Place(url: stand.providers, authorityFile: stand.authorityFile)
        }
        try writeProviders(testbed.folder, named, tokens)
        return stub
    }

    /// Returns the number of requests that our own stub has answered.
    func answered() async throws -> Int? {
        try await told("summary")?["unchecked"]?.number?.int64.flatMap { Int(exactly: $0) }
    }

    /// Returns the arrivals of pushes that contain the word, in microseconds since 1970.
    ///
    /// `mark` is the text after the word.
    func noted() async throws -> [(mark: String, at: Int64)] {
        guard let list = try await told("noted")?.array else { return [] }
        return list.compactMap { item in
            guard let pair = item.array, pair.count == 2, let mark = pair[0].string, let at = pair[1].number?.int64
            else { return nil }
            return (mark, at)
        }
    }

    private func told(_ what: String) async throws -> JSONValue? {
        guard let control else { return nil }
        var options = CurlTransportOptions(name: "bench")
        options.allowsPlainHTTP = true
        options.bodyLimit = Self.longestAnswer
        let transport = try CurlTransport(options)
        let outcomes = await transport.send([TransferRequest(.get, url: control + "/received/" + what)])
        await transport.close()
        guard case .answered(let answer)? = outcomes.first else { return nil }
        let limits = JSONParser.Limits(bytes: Self.longestAnswer, depth: 16)
        return try? JSONParser(limits: limits).parse(answer.body).get()
    }

    private static let longestAnswer = 64 << 20

    private static func writeProviders(_ folder: String, _ stub: Place, _ tokens: SandboxProcess) throws {
        // One file contains both authorities, since the two certificates may have different ones.
        let authorities = try [stub.authorityFile, tokens.authorityFile].map {
            try String(contentsOfFile: $0, encoding: .utf8)
        }
        try authorities.joined(separator: "\n").write(
            toFile: folder + "/authorities.pem",
            atomically: true,
            encoding: .utf8
        )
        let file: JSONValue = .members([
            (
                Workload.appName,
                .members([
                    (
                        "fcm",
                        .members([
                            ("serviceAccount", .string("account.json")), ("endpoint", .string(stub.url)),
                            ("caFile", .string("authorities.pem")),
                        ])
                    )
                ])
            )
        ])
        try file.written.write(toFile: Testbed.providersFile(folder), atomically: true, encoding: .utf8)
    }

    private static func localPort(of url: String) -> Int? {
        guard let parts = URLComponents(string: url), let host = parts.host, LocalHost.isLocal(host) else { return nil }
        return parts.port ?? 443
    }
}

/// One sandbox process that is listening.
private struct SandboxProcess {
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
}

/// Detects whether a server runs on this machine.
enum LocalHost {
    static func isLocal(_ host: String) -> Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host) || host.hasPrefix("/") || host.isEmpty
    }
}

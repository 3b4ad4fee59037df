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

    let place: Place
    /// The sandbox that issues the tokens, and checks and records the pushes that it receives.
    let strict: SandboxProcess
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
            words: ["--service-account-out", Self.accountFile(testbed)]
        )
        let stub: PushStub
        if let place {
            let port = localPort(of: place.url)
            stub = PushStub(place: place, strict: tokens, process: nil, control: nil, localPort: port)
        } else {
            let noting = word.map { ["--note", $0] } ?? []
            let stand = try await SandboxProcess(testbed, name: "stub", words: ["--unchecked"] + noting)
            stub = PushStub(
                place: stand.place,
                strict: tokens,
                process: stand.process,
                control: stand.control,
                localPort: nil
            )
        }
        try writeAuthorities(authoritiesFile(testbed), [stub.place, tokens.place])
        try writeProviders(Testbed.providersFile(testbed.folder), stub.place.url)
        return stub
    }

    static func accountFile(_ testbed: Testbed) -> String { testbed.folder + "/account.json" }

    /// The file with the authorities of the stub and of the strict sandbox.
    static func authoritiesFile(_ testbed: Testbed) -> String { testbed.folder + "/authorities.pem" }

    /// Returns the number of requests that our own stub has answered.
    func answered() async throws -> Int? {
        try await told("/summary")?["unchecked"]?.number?.int64.flatMap { Int(exactly: $0) }
    }

    /// Returns the arrivals of pushes that contain the word, in microseconds since 1970.
    ///
    /// `mark` is the text after the word.
    func noted() async throws -> [(mark: String, at: Int64)] {
        Self.arrivals(try await told("/noted"))
    }

    /// Returns the same and removes them from the stub.
    func takeNoted() async throws -> [(mark: String, at: Int64)] {
        Self.arrivals(try await told("/noted", by: .delete))
    }

    private static func arrivals(_ answer: JSONValue?) -> [(mark: String, at: Int64)] {
        (answer?.array ?? []).compactMap { item in
            guard let pair = item.array, pair.count == 2, let mark = pair[0].string, let at = pair[1].number?.int64
            else { return nil }
            return (mark, at)
        }
    }

    private func told(_ what: String, by method: TransferRequest.Method = .get) async throws -> JSONValue? {
        guard let control else { return nil }
        return try await SandboxProcess.told(control, what, by: method)
    }

    private static func writeAuthorities(_ file: String, _ places: [Place]) throws {
        // One file contains both authorities, since the two certificates may have different ones.
        let authorities = try places.map { try String(contentsOfFile: $0.authorityFile, encoding: .utf8) }
        try authorities.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
    }

    /// Writes a providers' file next to the account's file and the authorities.
    static func writeProviders(_ file: String, _ endpoint: String) throws {
        let providers: JSONValue = .members([
            (
                Workload.appName,
                .members([
                    (
                        "fcm",
                        .members([
                            ("serviceAccount", .string("account.json")), ("endpoint", .string(endpoint)),
                            ("caFile", .string("authorities.pem")),
                        ])
                    )
                ])
            )
        ])
        try providers.written.write(toFile: file, atomically: true, encoding: .utf8)
    }

    private static func localPort(of url: String) -> Int? {
        guard let parts = URLComponents(string: url), let host = parts.host, LocalHost.isLocal(host) else { return nil }
        return parts.port ?? 443
    }
}

extension SandboxProcess {
    /// Its providers.
    var place: PushStub.Place { PushStub.Place(url: providers, authorityFile: authorityFile) }
}

/// Detects whether a server runs on this machine.
enum LocalHost {
    static func isLocal(_ host: String) -> Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host) || host.hasPrefix("/") || host.isEmpty
    }
}

import BellhopJSON
import BellhopRules
import Foundation
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import API
@testable import Sandbox

@Suite("Active issuers and keys")
struct KeySetProviderTests {
    private static let url = "https://id.example/keys"
    private static let source = RemoteKeySource(url: url)
    private static let claims: JSONObject = ["iss": "https://id.example", "aud": "club", "sub": "ada"]

    /// The outcome of the next fetches.
    private final class Outcome: Sendable {
        private let held = Mutex<Result<FetchedKeys, KeyFetchError>>(.failure(KeyFetchError(description: "away")))

        var current: Result<FetchedKeys, KeyFetchError> {
            get { held.withLock { $0 } }
            set { held.withLock { $0 = newValue } }
        }

        func bring(_ issuer: TestIssuer) throws { try bring(issuer.keySet()) }

        func bring(_ bytes: [UInt8]) throws {
            let keys = try TokenKeySet.readFetched(bytes, from: url).get()
            current = .success(FetchedKeys(keys: keys, freshFor: .seconds(600)))
        }
    }

    private static func entry(keys: String, caFile: String? = nil) -> String {
        let authorities = caFile.map { #", caFile: "\#($0)""# } ?? ""
        return """
            {issuers: [{issuer: "https://id.example", audience: "club", app: "padel", keys: "\(keys)"\(authorities)}]}
            """
    }

    private static func configuration(_ file: String) -> SignInConfiguration {
        SignInConfiguration(keys: nil, audience: "bellhop", issuer: nil, file: file)
    }

    private static func provider(
        _ file: String,
        _ registry: MetricsRegistry,
        _ fetch: @escaping KeySetProvider.Fetch
    ) throws -> KeySetProvider {
        try KeySetProvider(
            configuration(file),
            every: .milliseconds(20),
            signals: AsyncStream { _ in },
            Logger(label: "test", level: .error, sink: CapturedLog()),
            registry,
            SystemTime(),
            fetch
        )
    }

    private static func count(_ registry: MetricsRegistry, _ outcome: String) -> Double? {
        let series = registry.series(of: "bellhop_token_key_fetches_total")
        return series.first { $0.values == [url, outcome] }?.samples.first?.value
    }

    private static func fault(_ provider: KeySetProvider, _ token: String) -> TokenError? {
        if case .failure(let fault) = provider.current.check(token, at: TestIssuer.now) { fault } else { nil }
    }

    private static func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("bellhop-\(UUID().uuidString)").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let result: Result<Void, any Error>
        do { result = .success(try await body(path)) } catch { result = .failure(error) }
        try? FileManager.default.removeItem(atPath: path)
        try result.get()
    }

    @Test("tokens wait for the first keys, and the keys stay in use while their issuer is unavailable")
    func stale() async throws {
        try await Self.withFile(Self.entry(keys: Self.url)) { file in
            let (outcome, registry, issuer) = (Outcome(), MetricsRegistry(), try TestIssuer())
            let provider = try Self.provider(file, registry) { _ in outcome.current }
            let token = try issuer.token(Self.claims)
            await provider.renew(Self.source)
            #expect(Self.fault(provider, token) == .unavailable)
            try outcome.bring(issuer)
            await provider.renew(Self.source)
            #expect(Self.fault(provider, token) == nil)
            outcome.current = .failure(KeyFetchError(description: "away"))
            await provider.renew(Self.source)
            #expect(Self.fault(provider, token) == nil)
            #expect(Self.count(registry, "failed") == 2 && Self.count(registry, "succeeded") == 1)
            #expect(registry.text().contains("bellhop_token_keys_age_seconds{url=\"\(Self.url)\"} 0"))
        }
    }

    @Test("unchanged keys keep the tokens and streams that were checked with them, and changed ones do not")
    func unchanged() async throws {
        try await Self.withFile(Self.entry(keys: Self.url)) { file in
            let (outcome, first, second) = (Outcome(), try TestIssuer(), try TestIssuer(keyID: "k2"))
            let provider = try Self.provider(file, MetricsRegistry()) { _ in outcome.current }
            try outcome.bring(first)
            await provider.renew(Self.source)
            let mark = provider.current.mark
            await provider.renew(Self.source)
            #expect(provider.current.mark === mark)
            let other: JSONValue = ["kty": "oct", "alg": "HS256", "k": "c2VjcmV0", "kid": "h"]
            try outcome.bring([0x20] + first.keySet(namingAlgorithm: false, beside: [other]))
            await provider.renew(Self.source)
            #expect(provider.current.mark === mark, "the document differs, and its usable keys do not")
            try outcome.bring(second)
            await provider.renew(Self.source)
            #expect(provider.current.mark !== mark)
            let (old, new) = (try first.token(Self.claims), try second.token(Self.claims))
            #expect(Self.fault(provider, old) == .key)
            #expect(Self.fault(provider, new) == nil)
        }
    }

    @Test("a changed file is read again with the keys that were fetched, and a broken one changes nothing")
    func reread() async throws {
        try await Self.withFile(Self.entry(keys: Self.url)) { file in
            let (outcome, issuer) = (Outcome(), try TestIssuer())
            let provider = try Self.provider(file, MetricsRegistry()) { _ in outcome.current }
            try outcome.bring(issuer)
            await provider.renew(Self.source)
            let token = try issuer.token(Self.claims)
            let place = URL(fileURLWithPath: file)
            try Data("{issuers: [".utf8).write(to: place)
            provider.refresh()
            #expect(Self.fault(provider, token) == nil)
            let other = Self.entry(keys: Self.url).replacingOccurrences(of: "\"club\"", with: "\"other\"")
            try Data(other.utf8).write(to: place)
            provider.refresh()
            #expect(Self.fault(provider, token) == .audience)
        }
    }

    @Test("calls do not wait for a file that cannot be read to its end")
    func hanging() async throws {
        try await Self.withFile(Self.entry(keys: Self.url)) { file in
            let provider = try Self.provider(file, MetricsRegistry()) { _ in Outcome().current }
            try FileManager.default.removeItem(atPath: file)
            try #require(mkfifo(file, 0o600) == 0)
            await withCheckedContinuation { finished in
                Thread {
                    provider.refresh()
                    finished.resume()
                }.start()
                // Opening waits for the reader, which then waits for content until the end is closed.
                let end = open(file, O_WRONLY)
                #expect(provider.current.keyCount == 0)
                _ = FileManager.default.createFile(atPath: file + ".new", contents: Data("{}".utf8))
                rename(file + ".new", file)
                close(end)
            }
        }
    }

    @Test("the start does not wait for keys, which are fetched by https and again for an unknown one")
    func running() async throws {
        let issuer = try TestIssuer()
        let answer = HTTP2Answer.json(200, try issuer.keySet())
        try await KeyServer.with(answer) { server in
            try await Self.withFile(Self.entry(keys: server.url, caFile: server.authorities)) { file in
                let provider = try Self.provider(file, MetricsRegistry(), KeyFetcher.fetch)
                #expect(server.paths.isEmpty && provider.current.keyCount == 0)
                let drain = DrainSignal()
                let running = Task { try await provider.run(until: drain) }
                try await eventually("the keys are fetched") { provider.current.keyCount == 1 }
                let token = try issuer.token(Self.claims)
                #expect(Self.fault(provider, token) == nil)
                let unknown = try issuer.token(Self.claims, keyID: "k2")
                for _ in 0..<100 { provider.noteUnknownKey(of: unknown) }
                drain.fire()
                try await running.value
                #expect(server.paths.count == 1)
            }
        }
    }
}

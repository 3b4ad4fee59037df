import BellhopJSON
import Testing

@testable import API
@testable import Sandbox

@Suite("Key sets by https")
struct KeyFetcherTests {
    private static func refusal(_ outcome: Result<FetchedKeys, KeyFetchError>) -> String {
        if case .failure(let error) = outcome { error.description } else { "it was fetched" }
    }

    @Test("a key set is fetched with its cache time, and keys for other programs are skipped")
    func fetched() async throws {
        let issuer = try TestIssuer()
        let others: [JSONValue] = [
            ["kty": "RSA", "use": "enc", "alg": "RSA-OAEP", "kid": "e"], ["kty": "EC", "crv": "P-384", "kid": "p"],
            ["kty": "oct", "alg": "HS256", "k": "c2VjcmV0", "kid": "h"], ["kty": "RSA", "alg": "RS512", "kid": "r"],
        ]
        let body = try issuer.keySet(namingAlgorithm: false, beside: others)
        let cache = HTTP2Answer.Field(name: "cache-control", value: "public, max-age=19045, must-revalidate")
        try await KeyServer.with(.json(200, body, [cache])) { server in
            let found = try await KeyFetcher.fetch(server.source).get()
            #expect(found.keys.count == 1 && found.freshFor == .seconds(19_045))
            #expect(found.keys["k1"]?.algorithm == .es256)
            #expect(server.paths == ["/keys"])
        }
    }

    @Test("a redirect is not followed, and other answers than a key set are refused")
    func refused() async throws {
        let long = [UInt8](repeating: UInt8(ascii: " "), count: TokenKeySet.longestFile + 1)
        try await KeyServer.with(.json(200, Array("{}".utf8))) { server in
            let location = HTTP2Answer.Field(name: "location", value: server.url + "/elsewhere")
            let answers: [(HTTP2Answer, String)] = [
                (HTTP2Answer(status: 302, fields: [location]), "redirect"), (.json(200, Array("{}".utf8)), "/keys"),
                (.html(503, "Unavailable"), "status 503"), (.html(200, "Login"), "not a usable key set"),
                (.json(200, long), "longer"), (.json(200, Array(#"{"keys":[]}"#.utf8)), "a key that signs"),
            ]
            for (answer, word) in answers {
                server.answer(answer)
                let text = Self.refusal(await KeyFetcher.fetch(server.source))
                #expect(text.contains(word), "\(text)")
            }
            #expect(Set(server.paths) == ["/keys"])
        }
    }

    @Test("a server whose certificate no trusted authority has signed is refused before a request")
    func untrusted() async throws {
        try await KeyServer.with(.json(200, Array("{}".utf8))) { server in
            let text = Self.refusal(await KeyFetcher.fetch(RemoteKeySource(url: server.url)))
            #expect(text.contains("certificate") || text.contains("SSL"), "\(text)")
            #expect(server.paths.isEmpty)
        }
    }

    @Test("an unreachable server is a failure with its host")
    func unreachable() async throws {
        let server = try KeyServer(.json(200, Array("{}".utf8)))
        await server.stop()
        let text = Self.refusal(await KeyFetcher.fetch(RemoteKeySource(url: server.url)))
        #expect(text.contains("localhost"), "\(text)")
    }
}

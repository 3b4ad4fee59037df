import BellhopRules
import HTTPTransfer
import Push
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("Senders from a configuration")
struct PushSendersTests {
    private func configuration(_ text: String) throws -> ProviderConfiguration {
        let folder = try TemporaryFolder()
        _ = try folder.write("a.json", Accounts.file())
        _ = try folder.write("b.json", Accounts.file { $0["private_key_id"] = "key-2" })
        _ = try folder.write("renewed.json", Accounts.file { $0["private_key"] = .string(TestKey.otherPEM) })
        _ = try folder.write("ca.pem", Array("-----BEGIN CERTIFICATE-----\n".utf8))
        return try ProviderConfiguration.read(file: try folder.write("providers.json5", Array(text.utf8)))
    }

    private static func answer(_ request: TransferRequest) -> TransferOutcome {
        request.url.hasSuffix("/token") ? .token("t") : .answer(200, "{}")
    }

    @Test("apps share token sources if all their settings are equal, and never share a transport for pushes")
    func sharing() async throws {
        let configuration = try configuration(
            """
            {
              one: { fcm: { serviceAccount: "a.json" } },
              two: { fcm: { serviceAccount: "a.json" } },
              three: { fcm: { serviceAccount: "b.json" } },
              four: { fcm: { serviceAccount: "a.json", caFile: "ca.pem" } },
              five: {},
            }
            """
        )
        let log = CapturedLog()
        let made = Mutex<[(name: String, transport: ScriptedTransport)]>([])
        let senders = try PushSenders(configuration, context: .init(logger: Logger(label: "push", sink: log))) {
            need in
            let transport = ScriptedTransport { Self.answer($0) }
            made.withLock { $0.append((need.name, transport)) }
            return transport
        }
        #expect(Set(senders.senders.keys.map(\.text)) == ["one", "two", "three", "four"])
        for providers in senders.senders.values {
            let sender = try #require(providers[.fcm])
            #expect(sender.provider == .fcm)
            #expect(await sender.send([try SamplePushes.plain()]) == [.delivered(providerMessageID: nil)])
        }
        let transports = made.withLock { $0 }
        #expect(transports.map(\.name).sorted() == ["fcm", "fcm", "fcm", "fcm", "tokens", "tokens"])
        // Accounts a and b with the system's authorities, and account a with its own.
        #expect(transports.filter { $0.name == "tokens" }.map(\.transport.requests.count).sorted() == [1, 2])
        #expect(transports.filter { $0.name == "fcm" }.allSatisfy { $0.transport.requests.count == 1 })
        await senders.close()
        #expect(transports.allSatisfy { $0.transport.closeCount == 1 })
    }

    @Test("two keys of one account never share a token, even if their files have the same key id")
    func keysOfOneAccount() async throws {
        let configuration = try configuration(
            #"{ one: { fcm: { serviceAccount: "a.json" } }, two: { fcm: { serviceAccount: "renewed.json" } } }"#
        )
        let errands = ScriptedTransport { Self.answer($0) }
        let pushes = ScriptedTransport { Self.answer($0) }
        let logger = Logger(label: "push", sink: CapturedLog())
        let senders = try PushSenders(configuration, context: .init(logger: logger)) { need in
            need.name == "tokens" ? errands : pushes
        }
        for providers in senders.senders.values {
            let sender = try #require(providers[.fcm])
            _ = await sender.send([try SamplePushes.plain()])
        }
        #expect(errands.requests.count == 2)
        #expect(Set(errands.requests.map(\.body)).count == 2)
        await senders.close()
    }

    @Test("connections, window and authorities of the file reach the transport")
    func options() throws {
        let configuration = try configuration(
            #"{ one: { fcm: { serviceAccount: "a.json", connections: 5, window: 77, caFile: "ca.pem" } } }"#
        )
        let seen = Mutex<[TransportNeed]>([])
        _ = try PushSenders(configuration, context: .init(logger: Logger(label: "push", sink: CapturedLog()))) {
            need in
            seen.withLock { $0.append(need) }
            return ScriptedTransport { Self.answer($0) }
        }
        let need = try #require(seen.withLock { $0 }.first { $0.name == "fcm" })
        #expect(need.reach.connections == 5)
        #expect(need.reach.window == 77)
        #expect(need.reach.authoritiesFile?.hasSuffix("/ca.pem") == true)
        let one = try #require(AppID(validating: "one"))
        #expect(need.kind == .pushes(one))
    }

    @Test("an error while a transport is opened is reported")
    func failing() throws {
        let configuration = try configuration(#"{ one: { fcm: { serviceAccount: "a.json" } } }"#)
        #expect(throws: TransferError.self) {
            try PushSenders(configuration, context: .init(logger: Logger(label: "push", sink: CapturedLog()))) {
                (_) throws(TransferError) in
                throw TransferError(.invalidOptions, "x")
            }
        }
    }
}

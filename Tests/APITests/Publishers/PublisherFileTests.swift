import BellhopRules
import Cryptography
import Foundation
import ServiceRuntime
import Settings
import TestSupport
import Testing

@testable import API

@Suite("The file of publishers")
struct PublisherFileTests {
    private static func account(_ name: String, types: [String]? = nil) throws -> (PublisherAccount, String) {
        let app = try #require(AppID(validating: "drop"))
        let made = try PublisherAccount.registered(
            as: name,
            app: app,
            types: types?.compactMap(EventType.init(validating:))
        )
        return (made.account, made.token)
    }

    @Test("a written file is read with the same accounts, and finds the owner of a token only")
    func written() throws {
        let (shop, token) = try Self.account("shop", types: ["security", "recipient.upserted"])
        let (till, other) = try Self.account("till")
        let file = PublisherFile().having(shop).having(till)
        #expect(!String(decoding: file.text, as: UTF8.self).contains("bhpub_"))
        let read = try PublisherFile.read(file.text, file: "p").get()
        #expect(read == file)
        #expect(read.owner(of: token) == shop && read.owner(of: other) == till)
        #expect(read.owner(of: token + "x") == nil && read.owner(of: "") == nil)
        #expect(read.removing("shop")?.owner(of: token) == nil)
        #expect(read.removing("nobody") == nil)
    }

    @Test("without types a token permits event types and cancellations, but no feed messages")
    func permissions() throws {
        let (all, _) = try Self.account("all")
        let (some, _) = try Self.account("some", types: ["security", "recipient.upserted"])
        func permitted(_ account: PublisherAccount) -> [String] {
            ["security", "system", "event.cancelled", "recipient.upserted", "recipient.deleted"].filter { name in
                EventType(validating: name).map(account.mayPublish) == true
            }
        }
        #expect(permitted(all) == ["security", "system", "event.cancelled"])
        #expect(permitted(some) == ["security", "recipient.upserted"])
    }

    @Test("an invalid list reports all faults together, each with its place")
    func faults() throws {
        let hash = Base64URL.encode(Array(repeating: 7, count: 32))
        let text = """
            {publishers: [
              {name: "a", hash: "\(hash)", app: "drop"},
              {name: "a", hash: "\(hash)", app: "drop"},
              {name: "b c", hash: "c2hvcnQ", app: "", types: [], token: "x"}
            ]}
            """
        guard case .failure(let faults) = PublisherFile.read(Array(text.utf8), file: "p.json5") else {
            Issue.record("it was accepted")
            return
        }
        let places = Set(faults.faults.map(\.pointer.text))
        let expected: Set<String> = [
            "/publishers/1/name", "/publishers/1/hash", "/publishers/2/name", "/publishers/2/hash",
            "/publishers/2/app", "/publishers/2/types", "/publishers/2/token",
        ]
        #expect(places == expected)
    }

    @Test("a changed file is read again within five seconds, and an invalid one leaves the accounts active")
    func watched() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("publishers")).path
        defer { unlink(path) }
        func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
        let (shop, token) = try Self.account("shop")
        try write(PublisherFile([shop]).text)
        let time = ManualSteadyTime()
        let log = CapturedLog()
        let directory = try WatchedDocument<PublisherFile>(
            file: path,
            time: time,
            logger: Logger(label: "test", level: .info, sink: log)
        )
        #expect(directory.current.owner(of: token) == shop)
        try write(Array("{".utf8))
        time.advance(by: .seconds(6))
        #expect(directory.current.owner(of: token) == shop)
        try write(PublisherFile().text)
        #expect(directory.current.owner(of: token) == shop)
        time.advance(by: .seconds(6))
        #expect(directory.current.owner(of: token) == nil)
        #expect(log.messages == ["new publishers rejected, keeping the old ones", "publishers reloaded"])
    }
}

import TestSupport
import Testing

@testable import AMQP

@Suite("Broker addresses")
struct BrokerAddressTests {
    @Test("a bare address has every default")
    func defaults() throws {
        let address = try BrokerAddress(validating: "amqp://broker.example")
        #expect(address.hosts == [.init(name: "broker.example", port: 5672)])
        #expect(address.virtualHost == "/")
        #expect(address.user == "guest")
        #expect(address.password == "guest")
        #expect(address.heartbeat == 30)
        #expect(address.connectionTimeoutMilliseconds == 10_000)
        #expect(address.tls == nil)
    }

    @Test("an address parses several hosts, IPv6, ports, encoded credentials and a virtual host")
    func everything() throws {
        let url = "amqps://us%40er:p%3a%2F%40ss@h1,[::1]:5999,h3:7/te%2Fam"
        let options = "?heartbeat=7&connection_timeout=1500&cacertfile=/ca%20x.pem&certfile=/c.pem&keyfile=/k.pem"
        let address = try BrokerAddress(validating: url + options)
        #expect(address.hosts.map(\.description) == ["h1:5671", "[::1]:5999", "h3:7"])
        #expect(address.user == "us@er")
        #expect(address.password == "p:/@ss")
        #expect(address.virtualHost == "te/am")
        #expect(address.heartbeat == 7)
        #expect(address.connectionTimeoutMilliseconds == 1500)
        #expect(address.tls == .init(authorities: "/ca x.pem", certificate: "/c.pem", key: "/k.pem"))
    }

    @Test(
        "an empty path and an encoded slash mean the virtual host /",
        arguments: ["amqp://h/", "amqp://h/%2f", "amqp://h?heartbeat=5"]
    )
    func rootVirtualHost(url: String) throws {
        #expect(try BrokerAddress(validating: url).virtualHost == "/")
    }

    @Test("no display form of an address contains the password")
    func masking() throws {
        let address = try BrokerAddress(validating: "amqp://bell:s3cret%21@h/v%20h")
        var dumped = ""
        dump(address, to: &dumped)
        #expect(address.description == "amqp://bell:***@h:5672/v%20h")
        for text in [address.description, String(reflecting: address), "\(address)", dumped] {
            #expect(!text.contains("s3cret"))
        }
    }

    @Test(
        "an invalid address is rejected and the error quotes no part of it",
        arguments: [
            "s3cret", "http://s3cret@h", "amqp://", "amqp://u:s3cret@", "amqp://u:s3cret@h:99999",
            "amqp://u:s3cret@h:0",
            "amqp://u:s3cret@h:5x", "amqp://u:s3cret@h1,,h2", "amqp://u:s3/cret@h", "amqp://u:s3cret%@h",
            "amqp://u:s3cret%0@h", "amqp://u:s3cret%00@h", "amqp://u:s3cret%ff@h", "amqp://:s3cret@h",
            "amqp://u:s3cret@h/a/b", "amqp://u:s3cret@[::1", "amqp://u:s3cret@[::1]5672", "amqp://u:s3cret@h#x",
            "amqp://u:s3?cret=1@h", "amqp://u:s3cret@h?heartbeat=0", "amqp://u:s3cret@h?heartbeat=-1",
            "amqp://u:s3cret@h?heartbeat=99999999999999999999", "amqp://u:s3cret@h?heartbeat=5&heartbeat=6",
            "amqp://u:s3cret@h?connection_timeout=0", "amqp://u:s3cret@h?verify=none",
            "amqp://u:s3cret@h?cacertfile=/x", "amqps://u:s3cret@h?certfile=/x", "amqps://u:s3cret@h?cacertfile=",
            "amqp://u:s3cret@ho st", "amqp://u:s3cret@h/" + String(repeating: "v", count: 256),
        ]
    )
    func refusals(url: String) {
        let error = failure { try BrokerAddress(validating: url) }
        #expect(error?.code == .invalidAddress)
        #expect(error.map { !$0.description.contains("s3") && !$0.description.contains("cret") } == true)
    }

    @Test("random texts are parsed or rejected, without a crash")
    func anything() {
        let seed = UInt64.random(in: 1...UInt64.max)
        var chance = SeededChance(seed)
        let pieces = [
            "amqp://", "amqps://", "@", ":", "/", "?", "&", "=", "%", "%2", "[", "]", ",", "é", "\0", "h", "5672",
            "heartbeat",
        ]
        for _ in 0..<5000 {
            let count = Int.random(in: 0...12, using: &chance)
            let url = "amqp://" + (0..<count).map { _ in pieces.randomElement(using: &chance) ?? "" }.joined()
            guard let address = try? BrokerAddress(validating: url) else { continue }
            #expect(!address.hosts.isEmpty, "seed \(seed): \(url)")
        }
    }
}

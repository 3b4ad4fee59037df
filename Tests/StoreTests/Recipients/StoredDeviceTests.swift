import BellhopRules
import TestSupport
import Testing

@testable import Store

@Suite("The devices in a user's row")
struct StoredDeviceTests {
    private static func list(_ text: String) -> [Device] { Array(text.utf8).withUnsafeBytes(Device.list) }

    private static func parsed(_ text: String) -> [Device] { Array(text.utf8).withUnsafeBytes(Device.parsed) }

    @Test("a list of plain values has all devices, and entries of another program are skipped")
    func plain() throws {
        let text = """
            [["sub_1", "token-1", "android", "fcm", "granted", null, null, "0123456789abcdef"], \
            ["sub_2", "token-2", "ios", "apns", null, "sandbox", null, true], \
            ["sub_3", "token-3", "watch", "fcm", null, null, null, null], \
            ["sub_4", "token-4", "ios", "expo", "unheard-of", null, null, false]]
            """
        let devices = Self.list(text)
        #expect(devices == Self.parsed(text))
        #expect(devices.map(\.subscription) == ["sub_1", "sub_2", "sub_4"])
        let first = try #require(devices.first)
        #expect(first.permission == .granted)
        #expect(first.mark == "0123456789abcdef")
        #expect(!first.wasReached)
        #expect(devices[1].wasReached && devices[1].environment == .sandbox)
        #expect(devices[2].permission == nil)
    }

    @Test("a browser's keys are read, too")
    func browser() {
        let key = "BHuFZTRkzqLNTo24q6aYn06YcTPw3B7u6L3DcgcRt8lsBV6EpF4GTK2zRyWVSNN3KfNPF3pTW2YgGmwDcTaMCq0"
        let text = """
            [["sub_1", "https://push.example/1", "web", "webpush", "granted", null, \
            {"keys": {"p256dh": "\(key)", "auth": "AAAAAAAAAAAAAAAAAAAAAA"}}, null], \
            ["sub_2", "token-2", "android", "fcm", null, null, null, null]]
            """
        let devices = Self.list(text)
        #expect(devices.map { $0.webPushKeys != nil } == [true, false])
    }

    @Test("both ways of reading a list give the same devices")
    func sameBothWays() {
        var generator = SeededChance.announced("devices in a row")
        let columns: [[String]] = [
            [#""sub_1""#, "null", #""sub å""#], [#""token""#, #""""#, "true", #""t\u0041""#],
            [#""ios""#, #""android""#, #""web""#, #""tv""#, "null"],
            [#""apns""#, #""fcm""#, #""expo""#, #""webpush""#, "1"],
            [#""granted""#, #""denied""#, "null", #""other""#],
            [#""sandbox""#, #""production""#, "null"], ["null", "{}", #"{"keys": 1}"#],
            ["true", "false", "null", #""0123456789abcdef""#],
        ]
        for _ in 0..<SeededChance.rounds(2_000) {
            let entries = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                var row = columns.map { $0.randomElement(using: &generator) ?? "" }
                if Int.random(in: 0..<20, using: &generator) == 0 { row.removeLast() }
                return "[\(row.joined(separator: ", "))]"
            }
            let text = "[\(entries.joined(separator: ", "))]"
            #expect(Self.list(text) == Self.parsed(text), "\(text)")
        }
    }
}

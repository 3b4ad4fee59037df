import BellhopRules
import Testing

@testable import Bench

@Suite("Comparison of a peer's pushes")
struct PushComparisonTests {
    @Test("pushes that differ only in the notifications' ids and in the order of members are equal")
    func equal() throws {
        let ours = try [Self.request(id: "noti_00000000000000a1"), Self.request(target: "tx_2")]
        let theirs = try [
            Self.request(target: "tx_2"),
            Self.parse(
                """
                {"number":9,"answer":{"status":200,"reason":null},"body":{"message":{
                    "android":{"notification":{"tag":"noti_00000000000000b2"},"priority":"HIGH"},
                    "data":{"type":"qr_payment","targetId":"tx_1","notificationId":"noti_00000000000000b2"},"token":"t"}}}
                """
            ),
        ]
        #expect(PushComparison.differences(ours, theirs) == [])
    }

    @Test("a member that is missing, added or different is reported with its place")
    func members() throws {
        let ours = try [Self.request()]
        let theirs = try [
            Self.parse(
                """
                {"number":9,"answer":{"status":200,"reason":null},"body":{"message":{
                    "android":{"notification":{"tag":"other","sound":"default"}},
                    "data":{"type":"qr_payment","targetId":"tx_1","notificationId":"noti_00000000000000a1"},"token":"t"}}}
                """
            )
        ]
        let places = "message.android.notification.sound, message.android.notification.tag, message.android.priority"
        #expect(PushComparison.differences(ours, theirs) == ["pushes differ at \(places)"])
    }

    @Test("an id in another form is a difference")
    func ids() throws {
        let faults = PushComparison.differences([try Self.request()], [try Self.request(id: "noti_1")])
        #expect(
            faults == ["pushes differ at message.android.notification.tag, message.data.notificationId"]
        )
    }

    @Test("missing, repeated and unexpected pushes are reported")
    func sets() throws {
        let ours = try [Self.request(), Self.request(target: "tx_2"), Self.request(target: "tx_3")]
        let theirs = try [Self.request(), Self.request(), Self.request(target: "tx_4")]
        #expect(
            PushComparison.differences(ours, theirs) == [
                "2 pushes of the peer are missing", "a push of the peer is repeated, or not to be sent",
            ]
        )
    }

    @Test("a push that the provider rejects is reported with the reason")
    func rejected() throws {
        let answer = #"{"status":400,"reason":"INVALID_ARGUMENT"}"#
        let faults = PushComparison.differences([try Self.request()], [try Self.request(answer: answer)])
        #expect(faults == ["the provider rejects a push of the peer: INVALID_ARGUMENT"])
    }

    /// Returns a request as the sandbox records it.
    private static func request(
        target: String = "tx_1",
        id: String = "noti_00000000000000a1",
        answer: String = #"{"status":200,"reason":null}"#
    ) throws -> JSONValue {
        try parse(
            """
            {"number":1,"answer":\(answer),"body":{"message":{"token":"t",
                "data":{"notificationId":"\(id)","type":"qr_payment","targetId":"\(target)"},
                "android":{"priority":"HIGH","notification":{"tag":"\(id)"}}}}}
            """
        )
    }

    private static func parse(_ text: String) throws -> JSONValue {
        try JSONParser().parse(Array(text.utf8)).get()
    }
}

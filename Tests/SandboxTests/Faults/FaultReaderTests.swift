import Testing

@testable import Sandbox

@Suite("Reading faults")
struct FaultReaderTests {
    @Test("every member of a fault is read")
    func reads() throws {
        let faults = try FaultReader.read(
            Array(
                #"""
                [{"provider":"fcm","match":"m","status":429,"reason":"QUOTA_EXCEEDED","retryAfter":60,"delayMs":5,
                  "rate":0.5,"count":3,"drop":false},
                 {"provider":"oauth","drop":true,"match":null},
                 {"provider":"fcm","status":503,"retryAfter":"Wed, 21 Oct 2026 07:28:00 GMT"},
                 {"provider":"fcm","delayMs":10},
                 {"provider":"apns","dripMs":20},{"provider":"apns","reset":true,"delayMs":1},
                 {"provider":"apns","partial":true},{"provider":"apns","goAway":true,"drop":false}]
                """#.utf8
            )
        )
        let quota = SandboxFault.Answer(status: 429, reason: "QUOTA_EXCEEDED", retryAfter: "60")
        let late = SandboxFault.Answer(status: 503, retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT")
        #expect(
            faults == [
                SandboxFault(.fcm, .answer(quota), match: "m", delay: .milliseconds(5)).limited(toRate: 0.5, count: 3),
                SandboxFault(.oauth, .drop),
                SandboxFault(.fcm, .answer(late)),
                SandboxFault(.fcm, .delay, delay: .milliseconds(10)),
                SandboxFault(.apns, .drip(every: .milliseconds(20))),
                SandboxFault(.apns, .reset, delay: .milliseconds(1)),
                SandboxFault(.apns, .partial),
                SandboxFault(.apns, .goAway),
            ]
        )
        #expect(try FaultReader.read(Array("[]".utf8)).isEmpty)
    }

    @Test(
        "an invalid fault is rejected with its place",
        arguments: [
            ("", ""), ("{}", ""), ("[1]", "/0"), (#"[{}]"#, "/0/provider"),
            (#"[{"provider":"pigeon","status":500}]"#, "/0/provider"),
            (#"[{"provider":"fcm"}]"#, "/0/status"), (#"[{"provider":"fcm","delayMs":0}]"#, "/0/status"),
            (#"[{"provider":"fcm","status":200}]"#, "/0/status"), (#"[{"provider":"fcm","status":600}]"#, "/0/status"),
            (#"[{"provider":"fcm","status":"500"}]"#, "/0/status"),
            (#"[{"provider":"fcm","status":500.5}]"#, "/0/status"),
            (#"[{"provider":"fcm","reason":"X","delayMs":5}]"#, "/0/status"),
            (#"[{"provider":"fcm","status":500,"drop":true}]"#, "/0/drop"),
            (#"[{"provider":"fcm","drop":"yes"}]"#, "/0/drop"),
            (#"[{"provider":"fcm","drop":true,"reset":true}]"#, "/0/reset"),
            (#"[{"provider":"fcm","dripMs":5,"partial":true}]"#, "/0/partial"),
            (#"[{"provider":"fcm","dripMs":5,"status":500}]"#, "/0/dripMs"),
            (#"[{"provider":"fcm","dripMs":0}]"#, "/0/dripMs"), (#"[{"provider":"fcm","goAway":1}]"#, "/0/goAway"),
            (#"[{"provider":"fcm","drop":true},{"provider":"fcm","drop":true,"rate":2}]"#, "/1/rate"),
            (#"[{"provider":"fcm","drop":true,"rate":-0.1}]"#, "/0/rate"),
            (#"[{"provider":"fcm","drop":true,"count":0}]"#, "/0/count"),
            (#"[{"provider":"fcm","drop":true,"count":99999999999}]"#, "/0/count"),
            (#"[{"provider":"fcm","delayMs":-1}]"#, "/0/delayMs"),
            (#"[{"provider":"fcm","delayMs":3600001}]"#, "/0/delayMs"),
            (#"[{"provider":"fcm","drop":true,"match":""}]"#, "/0/match"),
            (#"[{"provider":"fcm","drop":true,"match":5}]"#, "/0/match"),
            (#"[{"provider":"fcm","status":500,"retryAfter":-1}]"#, "/0/retryAfter"),
            (#"[{"provider":"fcm","status":500,"retryAfter":"a\nb"}]"#, "/0/retryAfter"),
            (#"[{"provider":"fcm","status":500,"delayms":5}]"#, "/0/delayms"),
        ]
    )
    func refuses(json: String, place: String) {
        do {
            let faults = try FaultReader.read(Array(json.utf8))
            Issue.record("read as \(faults)")
        } catch {
            #expect(error.place == place)
            #expect(!error.message.isEmpty)
        }
    }
}

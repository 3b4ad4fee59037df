import BellhopRules
import Store
import Testing

@testable import Pipeline

@Suite("Times of receipt requests")
struct ReceiptPolicyTests {
    @Test("a request is due when the age has doubled, the last one after a day, and then none")
    func looks() {
        let policy = ReceiptPolicy()
        var age = policy.firstLook
        var minutes: [Int64] = []
        while let wait = policy.wait(atAge: age) {
            age += wait
            minutes.append(age.components.seconds / 60)
        }
        #expect(minutes == [30, 60, 120, 240, 480, 960, 1440])
        #expect(policy.wait(atAge: .seconds(24 * 3600)) == nil)
        #expect(policy.wait(atAge: .zero) == .seconds(900))
        #expect(policy.wait(atAge: .seconds(24 * 3600 - 1)) == .seconds(900))
    }

    @Test("any number of deliveries is split into messages of five hundred that read back unchanged")
    func messages() throws {
        let app = try #require(AppID(validating: "drop"))
        let keys = try (0..<1203).map { index in
            let user = try #require(UserID(validating: "u\"\(index)"))
            let notification = NotificationKey(
                recipient: UserKey(app: app, user: user),
                notification: NotificationID(bits: UInt64(index))
            )
            return DeliveryKey(notification: notification, channel: .push, target: "sub_\(index)")
        }
        let messages = ReceiptMessage.messages(for: keys)
        #expect(messages.map(\.keys.count) == [500, 500, 203])
        #expect(messages.flatMap(\.keys) == keys)
        for message in messages { #expect(ReceiptMessage.read(message.body) == .success(message)) }
        #expect(ReceiptMessage.messages(for: []).isEmpty)
    }

    @Test(
        "a body that is not such a message is rejected",
        arguments: [
            "", "[]", #"{"deliveries":{}}"#, #"{"deliveries":[7]}"#, #"{"deliveries":[["drop","u","x","push","t"]]}"#,
        ]
    )
    func strays(_ body: String) {
        #expect(ReceiptMessage.read(Array(body.utf8)) == .failure(.foreign))
    }
}

import BellhopRules
import Store
import Testing

@testable import Pipeline

@Suite("Resume messages")
struct ResumeMessageTests {
    private func key(_ user: Int, _ number: Int) throws -> NotificationKey {
        let digits = String(repeating: "0", count: 16) + String(user * 1000 + number)
        return NotificationKey(
            recipient: UserKey(
                app: try #require(AppID(validating: "drop")),
                user: try #require(UserID(validating: "u\(user)"))
            ),
            notification: try #require(NotificationID(validating: "noti_\(digits.suffix(16))"))
        )
    }

    @Test("all open deliveries of one user are in one resume message, in any order, so that no digest is split")
    func together() throws {
        var keys: [NotificationKey] = []
        for number in 0..<5 { for user in 0..<300 { keys.append(try key(user, number)) } }
        let messages = ResumeMessage.messages(for: keys)
        #expect(Set(messages.flatMap(\.keys)) == Set(keys))
        #expect(messages.count >= keys.count / ResumeMessage.usual)
        var places: [UserKey: Set<Int>] = [:]
        for (place, message) in messages.enumerated() {
            #expect(message.keys.count <= ResumeMessage.limit)
            for key in message.keys { places[key.recipient, default: []].insert(place) }
        }
        let torn = places.values.filter { $0.count > 1 }
        #expect(torn.isEmpty)
    }

    @Test("one user's deliveries are split only if a message cannot hold them")
    func large() throws {
        let keys = try (0..<999).map { try key(1, $0) }
        let sizes = ResumeMessage.messages(for: keys).map(\.keys.count)
        #expect(sizes == [999])
        let more = try keys + (0..<999).map { try key(2, $0) }
        let several = ResumeMessage.messages(for: more, replacingEarlier: true)
        #expect(several.map(\.keys.count) == [999, 999])
        let replacements = several.filter(\.replacesEarlier)
        #expect(replacements.count == 2)
    }
}

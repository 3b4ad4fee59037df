import BellhopJSON
import BellhopRules
import HTTPServer
import Store

/// The topics that a user follows.
///
/// A role comes from the app's own servers, never from the user.
enum FollowRoutes {
    /// Answers `GET /api/follows`.
    static func list(_ call: Call) async throws -> HTTPResponse {
        _ = try call.query()
        let follows = try await call.tools.desk.follows(of: call.reader)
        return .object(["data": .array(follows.map(json))])
    }

    /// Answers `PUT /api/follows/{topic}`.
    static func put(_ call: Call) async throws -> HTTPResponse {
        let topic = try topic(call)
        var fields = try call.body(["muted"], mayBeEmpty: true)
        fields["topic"] = .string(topic.text)
        let update = try call.said(.followAdded, fields)
        let condition = ReaderCondition.followsFewer(than: mostFollows, beside: topic)
        guard try await call.tools.desk.say(update, as: call.reader, at: call.now, where: condition) else {
            throw CallFault(409, "too-many-follows", "a user may follow \(mostFollows) topics")
        }
        let follows = try await call.tools.desk.follows(of: call.reader)
        guard let follow = follows.first(where: { $0.topic == topic }) else { throw unknown }
        return .json(JSONWriter.canonicalBytes(of: json(follow)))
    }

    /// Answers `DELETE /api/follows/{topic}`.
    static func remove(_ call: Call) async throws -> HTTPResponse {
        _ = try call.query()
        let update = try call.said(.followRemoved, ["topic": .string(try topic(call).text)])
        _ = try await call.tools.desk.say(update, as: call.reader, at: call.now)
        return .done
    }

    /// As topics are stored.
    private static func topic(_ call: Call) throws(CallFault) -> Topic {
        call.catalog.topics.canonical(try call.place("topic"))
    }

    private static func json(_ follow: ReaderFollow) -> JSONValue {
        [
            "topic": .string(follow.topic.text), "muted": .bool(follow.isMuted),
            "role": .optional(follow.role?.text),
        ]
    }

    private static let mostFollows = 1_000
    private static let unknown = CallFault(404, "unknown-topic", "the user does not follow it")
}

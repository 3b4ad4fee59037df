import BellhopJSON
import BellhopRules
import HTTPServer
import Store

/// The topics that a user follows.
///
/// The role is set by the app's servers and never by the user.
enum FollowRoutes {
    /// Answers `GET /api/follows`.
    static func list(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        let follows = try await call.users.follows(of: call.reader)
        return .object(["data": .array(follows.map(json))])
    }

    /// Answers `PUT /api/follows/{topic}`.
    static func put(_ call: APIRequest) async throws -> HTTPResponse {
        let topic = try topic(call)
        var fields = try call.body(["muted"], mayBeEmpty: true)
        fields["topic"] = .string(topic.text)
        let update = try call.said(.followAdded, fields)
        guard call.catalog.topics.mayBeFollowed(topic) else {
            // A user whom the app's servers made a follower may mute the topic.
            try await call.say(update, where: .follows(topic), else: closed)
            return try await answer(topic, call)
        }
        let condition = Precondition.followsFewer(than: mostFollows, beside: topic)
        let most = "a user may follow \(mostFollows) topics, and have left some"
        try await call.say(update, where: condition, else: APIError(409, "too-many-follows", most))
        return try await answer(topic, call)
    }

    private static func answer(_ topic: Topic, _ call: APIRequest) async throws -> HTTPResponse {
        let follows = try await call.users.follows(of: call.reader)
        guard let follow = follows.first(where: { $0.topic == topic }) else { throw unknown }
        return .json(JSONWriter.canonicalBytes(of: json(follow)))
    }

    /// Answers `DELETE /api/follows/{topic}`.
    static func remove(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        let topic = try topic(call)
        let update = try call.said(.followRemoved, ["topic": .string(topic.text)])
        try await call.isHeard(update, where: .knowsTopic(topic))
        return .done
    }

    /// Returns the topic in its stored form.
    private static func topic(_ call: APIRequest) throws(APIError) -> Topic {
        call.catalog.topics.canonical(try call.place("topic"))
    }

    private static func json(_ follow: UserFollow) -> JSONValue {
        [
            "topic": .string(follow.topic.text), "muted": .bool(follow.isMuted),
            "role": .optional(follow.role?.text),
        ]
    }

    private static let mostFollows = 1_000
    private static let closed = APIError.field("topic", "topics of this kind are managed by the app's backend")
    private static let unknown = APIError(404, "unknown-topic", "the user does not follow it")
}

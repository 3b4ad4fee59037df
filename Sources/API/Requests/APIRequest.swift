import BellhopJSON
import BellhopRules
import HTTPServer
import Store

/// A request of a signed-in user, with the data for its answer.
struct APIRequest: Sendable {
    let request: HTTPRequest
    let reader: UserKey
    let catalog: Catalog
    let now: Timestamp
    /// The times of the token.
    let signedIn: AuthenticatedUser
    /// Identifies the keys with which the token was checked.
    let keys: TrustedIssuers.Mark
    let tools: APIContext

    /// Access to the database, limited by the token's time of issue.
    var users: UserStore { tools.users.admitting(tokenIssuedAt: signedIn.issuedAt) }

    /// Returns the values of a query.
    ///
    /// Only these names are allowed, each once.
    func query(_ names: [String] = []) throws(APIError) -> [String: String] {
        try Self.query(of: request, names)
    }

    static func query(of request: HTTPRequest, _ names: [String]) throws(APIError) -> [String: String] {
        var values: [String: String] = [:]
        for item in request.target.query {
            guard names.contains(item.name) else {
                throw .field(item.name, "unknown parameter")
            }
            guard values.updateValue(item.value, forKey: item.name) == nil else {
                throw .field(item.name, "it stands twice")
            }
        }
        return values
    }

    /// Returns the identifier at a place of the path.
    func place<ID: TextIdentifier>(_ name: String, as type: ID.Type = ID.self) throws(APIError) -> ID {
        guard let id = request.parameters[name].flatMap(ID.init(validating:)) else {
            throw .field(name, "expected \(ID.rule)")
        }
        return id
    }

    /// Returns the object in the body.
    ///
    /// Members other than these are rejected. `nil` allows any members.
    func body(_ members: [String]?, mayBeEmpty: Bool = false) throws(APIError) -> JSONObject {
        _ = try query()
        if request.body.isEmpty, mayBeEmpty { return JSONObject() }
        let type = request.headers["Content-Type"].map { $0.prefix { $0 != ";" } } ?? ""
        guard type.lowercased().filter({ $0 != " " }) == "application/json" else {
            throw APIError(415, "unsupported-media-type", "the body must be application/json")
        }
        let object: JSONObject
        switch ObjectBody.read(request.body) {
        case .success(let read): object = read
        case .failure(let rejection): throw APIError(rejection)
        }
        if let members, let stray = object.members.first(where: { !members.contains($0.key) }) {
            throw .field(stray.key, "there is no such member; known are \(members.joined(separator: ", "))")
        }
        return object
    }

    /// Writes the user's update.
    ///
    /// Throws `preconditionFailed` if the condition is not met.
    func say(_ update: FeedUpdate, where condition: Precondition, else preconditionFailed: APIError) async throws {
        guard try await isHeard(update, where: condition) else { throw preconditionFailed }
    }

    /// Writes the user's update.
    ///
    /// Returns false if the condition is not met.
    @discardableResult
    func isHeard(
        _ update: FeedUpdate,
        where condition: Precondition? = nil,
        isDefault: Bool = false
    ) async throws -> Bool {
        switch try await users.say(update, as: reader, at: now, where: condition, isDefault: isDefault) {
        case .heard: return true
        case .preconditionFailed: return false
        case .erased:
            throw APIError(409, "erased", "the user was erased with a later timestamp; check the source's clock")
        }
    }

    /// Makes the user's update, by the rules of the feed message of that type.
    func said(_ type: FeedType, _ fields: JSONObject) throws(APIError) -> FeedUpdate {
        switch FeedUpdate.said(by: reader.user, of: reader.app, type, fields) {
        case .success(let update):
            var update = update
            update.change.foldTopic(catalog.topics)
            return update
        case .failure(let rejection): throw APIError(rejection)
        }
    }
}

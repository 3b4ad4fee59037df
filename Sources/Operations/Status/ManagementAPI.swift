import BellhopJSON
import Foundation
import HTTPTransfer
package import ServiceRuntime
package import Settings

/// A client of RabbitMQ's management API, for values that AMQP does not provide.
package struct ManagementAPI: Sendable {
    /// The values of one queue.
    package struct Queue: Sendable, Equatable {
        package let unacked: Int?
        /// Microseconds since 1970, or `nil` if the broker does not know the time or the message has none.
        package let oldestSent: Int64?
        /// The number of messages from which the broker rejects further ones, or `nil` if there is no such number.
        package var limit: Int?
    }

    private let base: URLComponents
    private static let longestAnswer = 4 << 20

    /// Creates a client.
    ///
    /// The URL may contain user and password, and the base path of the API.
    package init(_ url: Secret) throws(CommandFailure) {
        guard let base = URLComponents(string: url.revealed), base.host != nil else {
            throw CommandFailure(
                .configuration,
                attempted: "reading \(Setting.managementURL.environmentName)",
                cameBack: "it is not a URL with a host",
                whatToDo: "write it like http://user:password@127.0.0.1:15672"
            )
        }
        self.base = base
    }

    /// Returns the queues of a namespace by name.
    package func queues(of namespace: Namespace, virtualHost: String) async throws(CommandFailure) -> [String: Queue] {
        let transport: CurlTransport
        do {
            var options = CurlTransportOptions(name: "management")
            options.allowsPlainHTTP = true
            options.bodyLimit = Self.longestAnswer
            transport = try CurlTransport(options)
        } catch {
            throw failure("\(error)")
        }
        let outcome = await transport.send([request(namespace, virtualHost)]).first
        await transport.close()
        switch outcome {
        case .answered(let answer): return try read(answer)
        case .notSent(let error), .unknown(let error): throw failure("\(error)")
        case nil: throw failure("no answer")
        }
    }

    private func request(_ namespace: Namespace, _ virtualHost: String) -> TransferRequest {
        var url = base
        let path = url.percentEncodedPath
        url.percentEncodedPath =
            (path.hasSuffix("/") ? String(path.dropLast()) : path) + "/api/queues/" + Self.encoded(virtualHost)
        url.percentEncodedQuery = [
            "page=1", "page_size=500", "use_regex=true", "name=" + Self.encoded("^\(namespace)\\."),
            "columns=name,messages_unacknowledged,head_message_timestamp,arguments,effective_policy_definition",
        ].joined(separator: "&")
        (url.user, url.password, url.fragment) = (nil, nil, nil)
        var headers: [TransferRequest.Header] = [("accept", "application/json")]
        if let user = base.user {
            let credentials = Data("\(user):\(base.password ?? "")".utf8).base64EncodedString()
            headers.append(("authorization", "Basic \(credentials)"))
        }
        let timeouts = TransferTimeouts(total: .seconds(10), connect: .seconds(5))
        return TransferRequest(.get, url: url.string ?? "", headers: headers, timeouts: timeouts)
    }

    private func read(_ answer: TransferAnswer) throws(CommandFailure) -> [String: Queue] {
        switch answer.status {
        case 200: break
        case 401, 403: throw failure("it refuses the log-in (\(answer.status))")
        case 404: throw failure("it knows no such virtual host (404)")
        default: throw failure("status \(answer.status)")
        }
        let limits = JSONParser.Limits(bytes: Self.longestAnswer, depth: 16)
        guard let items = try? JSONParser(limits: limits).parse(answer.body).get()["items"]?.array else {
            throw failure("an answer that is not a list of queues")
        }
        let queues = items.compactMap { item in item["name"]?.string.map { ($0, Queue(item)) } }
        return Dictionary(queues, uniquingKeysWith: { first, _ in first })
    }

    private func failure(_ cameBack: String) -> CommandFailure {
        CommandFailure(
            .unavailable,
            attempted: "asking the management API",
            cameBack: cameBack,
            whatToDo: "check \(Setting.managementURL.environmentName)"
        )
    }

    private static func encoded(_ text: String) -> String {
        let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    }
}

extension ManagementAPI.Queue {
    /// Fields that a queue's type does not have are absent, null or an empty string.
    fileprivate init(_ item: JSONValue) {
        unacked = item["messages_unacknowledged"]?.number?.int64.flatMap(Int.init(exactly:))
        let seconds = item["head_message_timestamp"]?.number?.int64.flatMap { $0 > 0 ? $0 : nil }
        oldestSent = seconds.map { Instant(seconds: $0).microseconds }
        // If both set a limit, the broker applies the smaller one.
        limit = [item["arguments"]?["x-max-length"], item["effective_policy_definition"]?["max-length"]]
            .compactMap { $0?.number?.int64.flatMap(Int.init(exactly:)) }.min()
    }
}

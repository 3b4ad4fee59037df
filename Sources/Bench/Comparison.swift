import BellhopRules

/// Compares the answers of servers before anything is measured.
struct Comparison: Sendable {
    let requests: APIRequests

    private static let samples = 20

    /// Returns the places where answers differ, or where an answer contains neither a list nor a number.
    func faults(of servers: [APIServer]) throws -> [String] {
        var faults: [String] = []
        for route in [APIRequests.Route.list, .unread] {
            for number in 0..<min(Self.samples, requests.users) {
                let answers = servers.map { answer(of: $0, requests.request(route, number)) }
                guard let first = answers.first, let first else {
                    faults.append("\(route.words) has no answer")
                    continue
                }
                if first["unreadCount"] == nil || (route == .list && first["data"]?.array?.isEmpty != false) {
                    faults.append("\(route.words) answers something else")
                }
                for answer in answers.dropFirst() where answer != first {
                    faults.append("\(route.words) is not the same of both for user \(number)")
                }
            }
        }
        return faults
    }

    private func answer(of server: APIServer, _ request: [UInt8]) -> JSONValue? {
        guard var connection = LoadConnection(port: server.port), let answer = connection.exchange(request),
            answer.status == 200
        else { return nil }
        return try? JSONParser().parse(Array(answer.body)).get()
    }
}

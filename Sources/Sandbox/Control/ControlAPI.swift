import BellhopRules
import HTTPServer

/// The sandbox's control interface in plain HTTP: it lists received requests and sets faults.
struct ControlAPI: Sendable {
    let log: ReceivedLog
    let faults: FaultList
    let browsers: BrowserControl
    /// The handler that answers requests without checks; `nil` if requests are checked.
    let unchecked: UncheckedHandler?

    var router: Router {
        var router = Router()
        router.add("GET", "/healthz") { _ in .text("ok\n") }
        router.add("GET", "/received") { answer($0, received) }
        router.add("GET", "/received/count") { answer($0, count) }
        router.add("GET", "/received/summary") { _ in .json(summary) }
        if let noted = unchecked?.noted {
            router.add("GET", "/received/noted") { _ in .json(noted.json) }
            router.add("DELETE", "/received/noted") { _ in .json(noted.takeJSON()) }
        }
        router.add("DELETE", "/received") { _ in
            log.removeAll()
            unchecked?.resetCount()
            return HTTPResponse(status: 204)
        }
        router.add("GET", "/faults") { _ in .json(faultArray) }
        router.add("PUT", "/faults") { replaceFaults($0) }
        router.add("DELETE", "/faults") { _ in
            faults.replace(with: [])
            return HTTPResponse(status: 204)
        }
        browsers.addRoutes(to: &router)
        return router
    }

    private var faultArray: [UInt8] { JSONWriter.canonicalBytes(of: .array(faults.entries.map(\.json))) }

    private var summary: [UInt8] {
        guard var object = log.summary.json.object, let unchecked else {
            return JSONWriter.canonicalBytes(of: log.summary.json)
        }
        object["unchecked"] = .whole(unchecked.count)
        return JSONWriter.canonicalBytes(of: .object(object))
    }

    private func replaceFaults(_ request: HTTPRequest) -> HTTPResponse {
        do {
            faults.replace(with: try FaultReader.read(request.body))
            return .json(faultArray)
        } catch {
            return .failure(400, code: "invalid-fault", message: error.message, field: error.place)
        }
    }

    private func received(_ request: HTTPRequest) throws(QueryRefusal) -> HTTPResponse {
        let requests = log.requests(
            of: try provider(request),
            after: UInt64(try whole("after", request) ?? 0),
            limit: try whole("limit", request) ?? .max
        )
        var output: [UInt8] = [UInt8(ascii: "[")]
        for (index, received) in requests.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            JSONWriter.write(received.json, into: &output)
        }
        output.append(UInt8(ascii: "]"))
        return .json(output)
    }

    private func count(_ request: HTTPRequest) throws(QueryRefusal) -> HTTPResponse {
        let name = request.query("by") ?? ReceivedCount.Key.token.rawValue
        guard let key = ReceivedCount.Key(rawValue: name) else {
            throw QueryRefusal(name: "by", message: "must be token or tag")
        }
        return .json(ReceivedCount(log.requests(of: try provider(request)), by: key).json)
    }

    private func provider(_ request: HTTPRequest) throws(QueryRefusal) -> ProviderName? {
        guard let text = request.query("provider") else { return nil }
        guard let provider = ProviderName(rawValue: text) else {
            let known = ProviderName.allCases.map(\.rawValue).joined(separator: ", ")
            throw QueryRefusal(name: "provider", message: "must be one of \(known)")
        }
        return provider
    }

    private func whole(_ name: String, _ request: HTTPRequest) throws(QueryRefusal) -> Int? {
        guard let text = request.query(name) else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw QueryRefusal(name: name, message: "must be a whole number that is not negative")
        }
        return number
    }

    private func answer(
        _ request: HTTPRequest,
        _ body: (HTTPRequest) throws(QueryRefusal) -> HTTPResponse
    ) -> HTTPResponse {
        do {
            return try body(request)
        } catch {
            return .failure(400, code: "invalid-query", message: error.message, field: error.name)
        }
    }
}

/// A query parameter that cannot be used.
private struct QueryRefusal: Error {
    let name: String
    let message: String
}

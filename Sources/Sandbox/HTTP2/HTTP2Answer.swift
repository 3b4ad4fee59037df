/// An answer on a stream.
struct HTTP2Answer: Sendable, Equatable {
    struct Field: Sendable, Equatable {
        /// The name in lower case.
        let name: String
        let value: String
    }

    let status: Int
    /// The fields without `:status` and `content-length`, which the server adds.
    var fields: [Field]
    let body: [UInt8]
    /// Whether the client may open the full number of streams from this answer on.
    var provesClient = false

    init(status: Int, fields: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Returns an answer with JSON that is already encoded.
    static func json(_ status: Int, _ body: [UInt8], _ fields: [Field] = []) -> HTTP2Answer {
        let type = Field(name: "content-type", value: "application/json; charset=UTF-8")
        return HTTP2Answer(status: status, fields: [type] + fields, body: body)
    }

    /// Returns an answer in HTML, as the providers' front ends give it for requests that never reached the service.
    static func html(_ status: Int, _ title: String) -> HTTP2Answer {
        let type = Field(name: "content-type", value: "text/html; charset=UTF-8")
        let page = "<!DOCTYPE html>\n<html lang=en>\n<title>Error \(status) (\(title))!!1</title>\n</html>\n"
        return HTTP2Answer(status: status, fields: [type], body: Array(page.utf8))
    }
}

/// What goes back on a stream.
struct HTTP2Answer: Sendable, Equatable {
    struct Field: Sendable, Equatable {
        /// In small letters.
        let name: String
        let value: String
    }

    let status: Int
    /// Without `:status` and `content-length`, which the server adds.
    var fields: [Field]
    let body: [UInt8]
    /// From this answer on its client may open as many streams as any other.
    var provesClient = false

    init(status: Int, fields: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// An answer in JSON that is encoded already.
    static func json(_ status: Int, _ body: [UInt8], _ fields: [Field] = []) -> HTTP2Answer {
        let type = Field(name: "content-type", value: "application/json; charset=UTF-8")
        return HTTP2Answer(status: status, fields: [type] + fields, body: body)
    }

    /// An answer in HTML, as the front ends of the providers give it for what never reached the service.
    static func html(_ status: Int, _ title: String) -> HTTP2Answer {
        let type = Field(name: "content-type", value: "text/html; charset=UTF-8")
        let page = "<!DOCTYPE html>\n<html lang=en>\n<title>Error \(status) (\(title))!!1</title>\n</html>\n"
        return HTTP2Answer(status: status, fields: [type], body: Array(page.utf8))
    }
}

import BellhopJSON
import HTTPServer

extension HTTPResponse {
    static func object(_ object: JSONObject, status: Int = 200) -> HTTPResponse {
        .json(JSONWriter.canonicalBytes(of: .object(object)), status: status)
    }

    /// Success without a body.
    static let done = HTTPResponse(status: 204)
}

extension JSONValue {
    /// Returns the text, or `null` for `nil`.
    static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    static func number(_ number: Int) -> JSONValue { .number(JSONNumber(Int64(number))) }
}

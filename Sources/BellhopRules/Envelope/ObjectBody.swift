/// The body of a request, read as strictly as that of a message.
package enum ObjectBody {
    /// The object that the bytes are, or why they are none: at fault as `malformed-json`, or with a value that cannot be
    /// stored.
    package static func read(_ bytes: [UInt8]) -> Result<JSONObject, Rejection> {
        var document: JSONObject?
        do throws(FieldFault) {
            return .success(try InboundMessage.object(bytes, .event, at: .root, &document))
        } catch {
            return .failure(Rejection(error, app: nil, type: nil, id: nil))
        }
    }
}

/// The body of a request, parsed as strictly as the body of a message.
package enum ObjectBody {
    /// Returns the object in the bytes.
    ///
    /// The rejection is `malformed-json`, or names a value that cannot be stored.
    package static func read(_ bytes: [UInt8]) -> Result<JSONObject, Rejection> {
        var document: JSONObject?
        do throws(FieldFault) {
            return .success(try InboundMessage.object(bytes, .event, at: .root, &document))
        } catch {
            return .failure(Rejection(error, app: nil, type: nil, id: nil))
        }
    }
}

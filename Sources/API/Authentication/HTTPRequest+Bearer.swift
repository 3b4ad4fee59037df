import HTTPServer

extension HTTPRequest {
    /// The token of the only `Authorization` header.
    ///
    /// A token in the query is ignored.
    var bearerToken: Result<String, TokenError> {
        let fields = headers.values(of: "Authorization")
        guard fields.count == 1, var field = fields.first else { return .failure(.missing) }
        guard field.utf8.count <= TokenVerifier.longest + 16 else { return .failure(.tooLong) }
        // By bytes, since a search by characters costs more than the rest of a short call.
        return field.withUTF8 { bytes in
            let words = bytes.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
            guard words.count == 2, words[0].lowercased() == "bearer" else { return .failure(.missing) }
            return .success(words[1])
        }
    }
}

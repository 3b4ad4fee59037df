import HTTPServer

extension HTTPRequest {
    /// The token of the only `Authorization` header.
    ///
    /// A token in the query is ignored.
    var bearerToken: Result<String, TokenError> {
        let fields = headers.values(of: "Authorization")
        guard fields.count == 1, let field = fields.first else { return .failure(.missing) }
        guard field.utf8.count <= TokenVerifier.longest + 16 else { return .failure(.tooLong) }
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else { return .failure(.missing) }
        return .success(String(words[1]))
    }
}

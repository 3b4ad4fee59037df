/// The rules for a request before it is passed to libcurl.
enum RequestRules {
    /// Throws `invalidRequest` for a URL that could break the request line, and for a GET with a body.
    static func check(_ request: TransferRequest) throws(TransferError) {
        guard !request.url.isEmpty, request.url.utf8.allSatisfy(ASCII.isVisible) else {
            throw TransferError(
                .invalidRequest,
                "\(request.method.rawValue) refused before sending: a URL must be visible ASCII without spaces"
            )
        }
        guard request.method != .get || request.body.isEmpty else {
            throw TransferError(
                .invalidRequest,
                "\(request.attempt) refused before sending: a GET must not have a body"
            )
        }
    }
}

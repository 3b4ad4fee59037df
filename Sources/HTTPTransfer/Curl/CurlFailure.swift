import CCurl

/// Converts libcurl's result codes into errors of this target.
enum CurlFailure {
    /// Returns the error of a transfer.
    ///
    /// `detail` is the text in libcurl's error buffer. It is included only for stages in which it cannot contain more
    /// than host, port and certificate names.
    static func error(_ result: CURLcode, for request: TransferRequest, detail: String) -> TransferError {
        error(result, attempt: request.attempt, detail: detail)
    }

    /// Returns the same error for any other attempt.
    static func error(_ result: CURLcode, attempt: String, detail: String) -> TransferError {
        let code = code(of: result)
        let reason = tellsDetail(code) && !detail.isEmpty ? detail : String(cString: curl_easy_strerror(result))
        return TransferError(code, "\(attempt): \(reason) (libcurl \(result.rawValue)); \(code.advice)")
    }

    static func code(of result: CURLcode) -> TransferError.Code {
        switch result {
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT: .invalidRequest
        case CURLE_COULDNT_RESOLVE_HOST: .nameLookup
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: .connect
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_SHUTDOWN_FAILED, CURLE_USE_SSL_FAILED: .tls
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED:
            .certificate
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND, CURLE_AGAIN:
            .connectionLost
        case CURLE_PARTIAL_FILE: .incompleteAnswer
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING,
            CURLE_TOO_MANY_REDIRECTS, CURLE_HTTP_RETURNED_ERROR:
            .protocolViolation
        default: .library
        }
    }

    private static func tellsDetail(_ code: TransferError.Code) -> Bool {
        switch code {
        case .nameLookup, .connect, .tls, .certificate: true
        default: false
        }
    }
}

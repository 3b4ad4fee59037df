import CCurl

/// The options of a slot's handle: those that hold for good, and those of one request.
extension TransferSlot {
    /// Sets once what holds for every transfer of the handle; gives the first failure.
    func configure(_ transport: CurlTransportOptions, detail: UnsafeMutableBufferPointer<CChar>) -> CURLcode {
        var options = EasyOptions(handle)
        let context = Unmanaged.passUnretained(self).toOpaque()
        options.set(CURLOPT_PRIVATE, pointer: context)
        options.set(CURLOPT_ERRORBUFFER, pointer: detail.baseAddress)
        restrict(&options, transport)
        connect(&options, transport)
        listen(&options, context)
        return options.failure
    }

    /// What must never happen: other protocols, redirects, and what the house's rules forbid everybody.
    private func restrict(_ options: inout EasyOptions, _ transport: CurlTransportOptions) {
        options.set(CURLOPT_PROTOCOLS_STR, transport.allowsPlainHTTP ? "http,https" : "https")
        options.set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
        options.set(CURLOPT_FOLLOWLOCATION, false)
        options.keepHouseRules(authoritiesFile: transport.authoritiesFile)
        options.set(CURLOPT_PROXY, transport.proxy ?? "")
        options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
    }

    /// How connections are made, shared and kept.
    private func connect(_ options: inout EasyOptions, _ transport: CurlTransportOptions) {
        options.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // Without it, requests that start together open a connection each instead of sharing one.
        options.set(CURLOPT_PIPEWAIT, true)
        options.set(CURLOPT_UPLOAD_BUFFERSIZE, 16 * 1024)
        options.set(CURLOPT_USERAGENT, transport.userAgent)
    }

    private func listen(_ options: inout EasyOptions, _ context: UnsafeMutableRawPointer) {
        for option in [
            CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA,
        ] {
            options.set(option, pointer: context)
        }
        let read: curl_read_callback = { buffer, size, count, context in
            let room = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
            return TransferSlot.slot(context)?.read(into: room) ?? Int(CURL_READFUNC_ABORT)
        }
        let write: curl_write_callback = { bytes, size, count, context in
            let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return TransferSlot.slot(context)?.takeBody(piece) == true ? piece.count : 0
        }
        let header: curl_write_callback = { bytes, size, count, context in
            let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return TransferSlot.slot(context)?.takeLine(line) == true ? line.count : 0
        }
        options.keep(bellhop_easy_set_read(handle, read))
        options.keep(bellhop_easy_set_write(handle, CURLOPT_WRITEFUNCTION, write))
        options.keep(bellhop_easy_set_write(handle, CURLOPT_HEADERFUNCTION, header))
        // libcurl repeats a request by itself when a kept connection dies without an answer, and rewinds the body for
        // it. The peer may have processed the first copy, so rewinding fails and the caller gets to decide.
        options.keep(
            bellhop_easy_set_seek(handle) { context, offset, origin in
                let isThere = TransferSlot.slot(context)?.isAtStart == true && offset == 0 && origin == SEEK_SET
                return isThere ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
            }
        )
        options.keep(
            bellhop_easy_set_open_socket(handle) { context, _, target in
                guard let target else { return CURL_SOCKET_BAD }
                return TransferSlot.slot(context)?.openSocket(target) ?? CURL_SOCKET_BAD
            }
        )
    }

    /// Sets what belongs to one request; gives the first failure.
    func apply(_ request: TransferRequest, headers: UnsafeMutablePointer<curl_slist>?) -> CURLcode {
        var options = EasyOptions(handle)
        let hasBody = !request.body.isEmpty
        options.set(CURLOPT_URL, request.url)
        options.keep(bellhop_easy_set_headers(handle, headers))
        options.set(CURLOPT_TIMEOUT_MS, milliseconds: request.timeouts.total)
        options.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds: request.timeouts.connect)
        if hasBody || request.method == .post || request.method == .put {
            options.set(CURLOPT_POST, true)
            options.keep(bellhop_easy_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)))
        } else {
            options.set(CURLOPT_HTTPGET, true)
        }
        let isNative = request.method == .get || request.method == .post
        options.set(CURLOPT_CUSTOMREQUEST, isNative ? nil : request.method.rawValue)
        // Where there is no body to rewind, the silent repeat cannot be stopped; it only happens on kept connections.
        options.set(CURLOPT_FRESH_CONNECT, request.method == .post && !hasBody)
        return options.failure
    }
}

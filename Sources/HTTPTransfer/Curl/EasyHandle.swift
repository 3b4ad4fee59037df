import CCurl

/// An easy handle, which keeps its connection from transfer to transfer, and the buffer for libcurl's own words.
///
/// Stays with the thread that has the lane it belongs to.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private let detail = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// Sets what holds for all transfers; `refusal` words what is thrown where libcurl cannot be used, or not like that.
    init(
        refusal: (String) -> TransferError,
        _ configure: (inout EasyOptions) -> Void
    ) throws(TransferError) {
        guard CurlLibrary.isReady, let pointer = curl_easy_init() else {
            detail.deallocate()
            throw refusal("libcurl could not be initialised")
        }
        self.pointer = pointer
        detail.initialize(repeating: 0)
        let failure = set(configure)
        guard failure == CURLE_OK else {
            throw refusal("libcurl refuses an option (\(String(cString: curl_easy_strerror(failure))))")
        }
    }

    deinit {
        curl_easy_cleanup(pointer)
        detail.deallocate()
    }

    /// Sets options; gives the first failure.
    func set(_ change: (inout EasyOptions) -> Void) -> CURLcode {
        var options = EasyOptions(pointer)
        change(&options)
        return options.failure
    }

    /// Carries out the transfer that is set; blocks until it has ended.
    func perform() -> CURLcode {
        detail[0] = 0
        _ = bellhop_easy_set_pointer(pointer, CURLOPT_ERRORBUFFER, detail.baseAddress)
        return curl_easy_perform(pointer)
    }

    /// What libcurl wrote about the latest failure, parts of which come from the peer: in printable ASCII, anything else
    /// as a question mark.
    var words: String {
        let bytes = detail.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes.map { $0 == 0x20 || ASCII.isVisible($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// What libcurl tells of the latest transfer; nil where it does not know.
    func number(_ info: CURLINFO) -> Int? {
        var value = 0
        return bellhop_easy_get_long(pointer, info, &value) == CURLE_OK ? value : nil
    }

    /// The same for what it counts in bytes.
    func bytes(_ info: CURLINFO) -> Int? {
        var value: curl_off_t = 0
        return bellhop_easy_get_offset(pointer, info, &value) == CURLE_OK ? Int(clamping: value) : nil
    }
}

extension EasyHandle {
    /// Calls `body` with `lines` as libcurl's linked list, which it does not copy; nil where memory is out.
    static func withList<Result>(
        _ lines: [String],
        _ body: (UnsafeMutablePointer<curl_slist>?) -> Result
    ) -> Result? {
        var list: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(list) }
        for line in lines {
            guard let longer = curl_slist_append(list, line) else { return nil }
            list = longer
        }
        return body(list)
    }
}

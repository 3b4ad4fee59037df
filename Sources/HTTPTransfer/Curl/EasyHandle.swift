import CCurl
import ServiceRuntime

/// An easy handle, which keeps its connection between transfers, and the buffer for libcurl's error text.
///
/// It stays with the thread that owns its connection.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private let detail = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// Sets the options for all transfers; `refusal` creates the error for a missing libcurl or a rejected option.
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

    /// Sets options and returns the first failure.
    func set(_ change: (inout EasyOptions) -> Void) -> CURLcode {
        var options = EasyOptions(pointer)
        change(&options)
        return options.failure
    }

    /// Performs the configured transfer; blocks until it has ended.
    func perform() -> CURLcode {
        detail[0] = 0
        _ = bellhop_easy_set_pointer(pointer, CURLOPT_ERRORBUFFER, detail.baseAddress)
        return curl_easy_perform(pointer)
    }

    /// libcurl's text for the latest failure, parts of which come from the peer.
    ///
    /// It is reduced to printable ASCII, with a question mark for every other byte.
    var words: String {
        let bytes = detail.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes.map { $0 == 0x20 || ASCII.isVisible($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// Returns libcurl's value for the latest transfer; `nil` if it has none.
    func number(_ info: CURLINFO) -> Int? {
        var value = 0
        return bellhop_easy_get_long(pointer, info, &value) == CURLE_OK ? value : nil
    }

    /// Returns the same for values in bytes.
    func bytes(_ info: CURLINFO) -> Int? {
        var value: curl_off_t = 0
        return bellhop_easy_get_offset(pointer, info, &value) == CURLE_OK ? Int(clamping: value) : nil
    }

    /// Calls `body` with `lines` as a linked list, which libcurl does not copy; returns `nil` if memory is exhausted.
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

/// The process-wide part of libcurl.
enum CurlLibrary {
    /// Whether libcurl has been initialised, which happens once, before any handle exists.
    ///
    /// Multi-threaded programs must set NOSIGNAL, and with it libcurl no longer protects its writes from SIGPIPE. The
    /// signal is therefore ignored for the whole process.
    static let isReady: Bool = {
        ProcessSignal.ignoreBrokenPipes()
        return curl_global_init(Int(CURL_GLOBAL_SSL)) == CURLE_OK
    }()
}

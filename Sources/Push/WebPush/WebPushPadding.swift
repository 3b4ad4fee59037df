/// The lengths that payloads are padded to, so that the length of a body does not tell what is in it.
package enum WebPushPadding {
    /// 512, 1,024, 2,048, 2,560 and 3,993 bytes; the last one fills a body of 4,096.
    package static let lengths = [512, 1024, 2048, 2560, WebPushContent.limit - WebPushContent.overhead]

    /// What a push service takes of a payload at most.
    ///
    /// Mozilla's passes messages for phones on through a bridge that takes 2,744 bytes, and an endpoint does not tell
    /// a phone.
    static func longest(at host: String) -> Int {
        host.hasSuffix(".mozilla.com") ? lengths[3] : lengths[4]
    }

    /// The shortest of the lengths that so many bytes fit into.
    static func length(for count: Int) -> Int {
        lengths.first { $0 >= count } ?? count
    }
}

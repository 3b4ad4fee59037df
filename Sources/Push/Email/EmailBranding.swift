import BellhopRules

/// The common parts of all mails of an app.
package struct EmailBranding: Sendable {
    package let from: Mailbox

    /// The scheme and host of the web app, without a trailing slash; the paths of links are appended.
    package let linkBase: String

    package let unsubscribe: UnsubscribeLink

    package init(from: Mailbox, linkBase: String, unsubscribe: UnsubscribeLink) {
        self.from = from
        self.linkBase = linkBase
        self.unsubscribe = unsubscribe
    }

    /// Returns the name of the app in its mails.
    func appName(_ app: AppID) -> String { from.name.isEmpty ? app.text : from.name }

    /// Returns an absolute URL in visible ASCII for any path; the URL never leaves the web app's host.
    func link(to path: String) -> String {
        var url = Array(linkBase.utf8)
        if !path.hasPrefix("/") { url.append(UInt8(ascii: "/")) }
        for byte in path.utf8 {
            if byte > 0x20, byte < 0x7F, !"\"<>\\^`{|}".utf8.contains(byte) {
                url.append(byte)
            } else {
                url += [UInt8(ascii: "%"), Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 15)]
            }
        }
        return String(decoding: url, as: UTF8.self)
    }
}

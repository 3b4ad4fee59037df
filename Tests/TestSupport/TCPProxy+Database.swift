import Foundation

extension TCPProxy {
    /// Creates a proxy for the database of this run, and returns it with the URL for its clients.
    package static func beforeDatabase() throws -> (proxy: TCPProxy, url: String) {
        let url = Servers.databaseURL ?? ""
        let parts = URLComponents(string: url)
        let proxy = try TCPProxy(to: parts?.host ?? "127.0.0.1", parts?.port ?? 5432)
        return (proxy, proxy.url(replacingHostOf: url))
    }
}
